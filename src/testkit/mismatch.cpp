// SPDX-License-Identifier: Apache-2.0
#include <troupe/testkit/mismatch.hpp>

#include <chrono>
#include <string_view>
#include <utility>

#include <troupe/actor/turn_context.hpp>
#include <troupe/sim/simulation.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::testkit {

namespace {

constinit atomic<mismatch_hook> hook_now{nullptr};

constexpr int lines_shown = 20;

std::string last_lines(std::string text) {
  std::size_t at = text.size();
  for (int lines = 0; lines <= lines_shown; ++lines) {
    at = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (at == std::string::npos) return text;
  }
  return text.substr(at + 1);
}

std::string place_of(const std::source_location& where) {
  return std::string(where.file_name()) + ':' + std::to_string(where.line());
}

}  // namespace

std::string mismatch::what() const { return "expected " + expected + "; got " + came; }

std::string mismatch::text() const {
  std::string all = what();
  if (!seed) return all;
  all += "\nin a simulation with the seed " + std::to_string(*seed) + " (TROUPE_SIM_SEED)";
  return trace.empty() ? all : all + ". Last events:\n" + trace;
}

expectation_failed::expectation_failed(mismatch details)
    : std::runtime_error(place_of(details.where) + ": " + details.what()),
      details_(std::move(details)) {}

mismatch_hook on_mismatch(mismatch_hook hook) noexcept {
  // [mismatch-hook] relaxed: the value is a function, which needs no publication.
  return hook_now.exchange(hook, relaxed);
}

void fail(std::string expected, std::string came, std::source_location where) {
  mismatch details{.expected = std::move(expected), .came = std::move(came), .where = where};
  if (const sim::simulation* const sim = sim::simulation::here()) {
    details.seed = sim->seed();
    details.trace = last_lines(sim->trace());
  }
  if (const mismatch_hook hook = hook_now.load(relaxed)) hook(details);  // [mismatch-hook]
  throw expectation_failed(std::move(details));
}

namespace detail {

void refuse_in_a_turn(const char* what) {
  if (troupe::detail::this_turn().running == nullptr) return;
  throw std::logic_error(
      std::string("troupe: ") + what +
      " was called within an actor's turn: call it in the test, outside of actors");
}

std::string to_text(duration time) {
  using namespace std::chrono_literals;
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  constexpr std::pair<duration, std::string_view> units[] = {
      {1h, " h"}, {1min, " min"}, {1s, " s"}, {1ms, " ms"}, {1us, " us"}};
  for (const auto& [unit, name] : units) {
    if (time >= unit && time % unit == duration{}) {
      return std::to_string(time / unit).append(name);
    }
  }
  return std::to_string(duration_cast<nanoseconds>(time).count()) + " ns";
}

}  // namespace detail
}  // namespace troupe::testkit
