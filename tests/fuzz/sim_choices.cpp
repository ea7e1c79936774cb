// SPDX-License-Identifier: Apache-2.0

// A log of a simulation's choices, as read from the file named by TROUPE_SIM_LOG, and the seed in
// TROUPE_SIM_SEED.

#include <troupe/sim/choices.hpp>

#include <optional>
#include <stdexcept>

#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using troupe::sim::choice_log;
using troupe::sim::choices;

template <class Read>
auto read(const Read& from, std::string_view mentions) -> std::optional<decltype(from())> {
  try {
    return from();
  } catch (const std::invalid_argument& why) {
    const std::string_view text = why.what();
    require(text.starts_with("troupe: ") && text.find(mentions) != std::string_view::npos,
            "an error says where");
    require(text.find(": expected ") != std::string_view::npos, "an error says what is expected");
    return std::nullopt;
  }
}

void check_replay(const choice_log& log) {
  choices by(log);
  require(by.seed() == log.seed, "a replay has the log's seed");
  // With one alternative there is no choice, so a log with such a choice does not come from a run.
  if (std::none_of(log.choices.begin(), log.choices.end(),
                   [](const auto& each) { return each.count < 2; })) {
    for (const auto& each : log.choices) {
      require(by.choose(each.count, "") == each.chosen, "a replay chooses as the log says");
    }
    require(by.log().choices == log.choices, "a replay makes the same log");
    require(by.choose(7, "") == 0, "behind the log the first is chosen");
  }

  choices narrower(log);
  for (std::size_t i = 0; i < log.choices.size(); ++i) {
    require(narrower.choose(2, "") < 2, "a log that does not fit chooses what there is");
  }
}

void check_log(std::string_view text) {
  const auto log = read([&] { return choice_log::parse(text); }, "line ");
  if (!log) return;
  require(text.starts_with("seed "), "a log begins with its seed");
  for (const auto& each : log->choices) {
    require(each.chosen < each.count, "who is chosen is one of those that there are");
  }
  const std::string again = log->text();
  const choice_log second = choice_log::parse(again);
  require(second.seed == log->seed && second.choices == log->choices, "what is written is read");
  require(second.text() == again, "there is one way to write it");
  check_replay(*log);
}

void check_seed(const std::string& text) {
  ::setenv("TROUPE_SIM_SEED", text.c_str(), 1);
  const std::string_view seen = text.c_str();  // up to the first zero
  const auto by = read([] { return choices::from_environment(4711); }, "TROUPE_SIM_SEED");
  if (!by) return;
  if (seen.empty()) return require(by->seed() == 4711, "without a seed it is the given one");
  require(seen.find_first_not_of("0123456789") == std::string_view::npos, "a seed is a number");
  const std::string number = std::to_string(by->seed());
  require(seen.ends_with(number) &&
              seen.substr(0, seen.size() - number.size()).find_first_not_of('0') ==
                  std::string_view::npos,
          "a seed is this number");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ::unsetenv("TROUPE_SIM_LOG");
  const std::string_view text = text_of(data, size);
  check_log(text);
  check_seed(std::string{text});
  return 0;
}
