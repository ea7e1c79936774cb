// SPDX-License-Identifier: Apache-2.0
#include "timeline_recorder.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include <troupe/sync/per_process.hpp>

namespace troupe::detail {

namespace {

constexpr duration interval_least = std::chrono::microseconds(10);
constexpr int ticks_until_drained = 5;  // a lane has room for the slices of that time
constexpr int ticks_merged = 10;        // a merged slice has no more ticks
constexpr int waits_in_a_tick = 50;     // shorter waits are not slices

struct systems_named {
  atomic<unsigned> so_far{0};
};

// Example: "run.json", 2 → "run-2.json"
std::string numbered(const std::string& file, unsigned number) {
  if (number == 1) return file;
  const std::size_t name = file.find_last_of('/') + 1;  // 0 if there is no directory
  const std::size_t dot = file.find_last_of('.');
  const std::size_t at = dot == std::string::npos || dot <= name ? file.size() : dot;
  return file.substr(0, at) + "-" + std::to_string(number) + file.substr(at);
}

}  // namespace

std::unique_ptr<timeline_recorder> timeline_recorder::make(timeline_options options) {
  if (options.file.empty()) {
    const char* const named = std::getenv("TROUPE_TRACE");
    if (named == nullptr || *named == '\0') return nullptr;
    // [counter] relaxed: the numbers only have to differ.
    options.file =
        numbered(named, per_process<systems_named>::here().so_far.fetch_add(1, relaxed) + 1);
  }
  return std::make_unique<timeline_recorder>(options);
}

timeline_recorder::timeline_recorder(const timeline_options& options)
    : file_name_(options.file),
      interval_(std::max(options.interval, interval_least)),
      lanes_(interval_ / waits_in_a_tick),
      file_(options.file, options.bytes_max, clock::now()),
      hot_(clock::now()),
      thread_(start_thread("troupe/timeline", [this] { run(); })) {}

timeline_recorder::~timeline_recorder() {
  stopping_.store(true, relaxed);  // [recorder-stops] relaxed: the parker publishes it
  parker_.notify();
  thread_.join();
  report();
}

void timeline_recorder::run() noexcept {
  time_point drained = clock::now();
  while (!stopping_.load(relaxed)) {  // [recorder-stops]
    // While no thread runs, there is nothing to request; a thread that begins to run reports that
    // itself.
    (void)parker_.park_until(clock::now() + interval_ * (running_ != 0 ? 1 : ticks_until_drained));
    running_ = lanes_.tick();
    const time_point now = clock::now();
    if (now - drained < interval_ * ticks_until_drained) continue;
    drained = now;
    file_.count_running(now, running_);
    drain();
  }
  drain();
}

void timeline_recorder::drain() noexcept {
  try {
    lanes_.for_each_lane([this](timeline_lane& lane, bool is_closed) { look_at(lane, is_closed); });
  } catch (const std::bad_alloc&) {
    ++lost_;
  }
  file_.flush();
}

void timeline_recorder::look_at(timeline_lane& lane, bool is_closed) {
  const auto [at, is_new] = written_.try_emplace(lane.number());
  written& its = at->second;
  if (is_new) file_.name_lane(lane.number(), lane.name());
  bool has_any = false;
  lane.take_all([&](const timeline_slice& slice) {
    has_any = true;
    take(lane.number(), its, slice);
  });
  if (!has_any || is_closed) write_last(lane.number(), its);
  lost_ += lane.lost() - std::exchange(its.lost, lane.lost());
  if (is_closed) written_.erase(at);
}

void timeline_recorder::take(unsigned lane, written& before, const timeline_slice& next) {
  hot_.add(next);
  if (before.has_last && before.is_regular && goes_on(before.last, next)) {
    before.last.end = next.end;
    before.last.waited += next.waited;
    before.last.messages += next.messages;
    return;
  }
  write_last(lane, before);
  before.last = next;
  before.has_last = true;
  before.is_regular = is_regular(next);
}

void timeline_recorder::write_last(unsigned lane, written& before) {
  if (std::exchange(before.has_last, false)) file_.write(lane, before.last);
}

// A slice that is longer than the ticks is one handler's, and is not merged.
bool timeline_recorder::is_regular(const timeline_slice& slice) const noexcept {
  return slice.end - slice.begin < 2 * interval_;
}

bool timeline_recorder::goes_on(const timeline_slice& before,
                                const timeline_slice& next) const noexcept {
  return before.what == next.what && before.worker == next.worker && before.end == next.begin &&
         before.label == next.label && is_regular(next) &&
         next.end - before.begin < ticks_merged * interval_;
}

void timeline_recorder::report() noexcept {
  file_.end(clock::now(), lost_);
  try {
    const std::string table = hot_.text(clock::now());
    const std::string name = file_name_ + ".txt";
    errno = 0;
    std::FILE* const out = std::fopen(name.c_str(), "w");
    const bool is_written =
        out != nullptr && std::fwrite(table.data(), 1, table.size(), out) == table.size();
    if (out == nullptr || std::fclose(out) != 0 || !is_written) {
      std::fprintf(stderr, "troupe: the time profile cannot be written to %s: %s\n", name.c_str(),
                   std::strerror(errno));
    }
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "troupe: no memory for the time profile\n");
  }
  if (file_.failure() != 0) {
    std::fprintf(stderr, "troupe: the timeline %s is not complete: %s\n", file_name_.c_str(),
                 std::strerror(file_.failure()));
  }
}

}  // namespace troupe::detail
