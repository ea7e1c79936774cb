// SPDX-License-Identifier: Apache-2.0
#include "journal.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "log_text.hpp"

namespace troupe::server::detail {
namespace {

std::shared_ptr<spdlog::sinks::sink> sink_for(const log_options& how) {
  std::shared_ptr<spdlog::sinks::sink> made;
  try {
    if (how.to == "stdout") {
      made = std::make_shared<spdlog::sinks::stdout_sink_mt>();
    } else if (how.to == "stderr") {
      made = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      made = std::make_shared<spdlog::sinks::basic_file_sink_mt>(how.to);
    }
  } catch (const spdlog::spdlog_ex& wrong) {
    throw std::runtime_error("the log cannot be written to \"" + how.to + "\": " + wrong.what());
  }
  constexpr const char* in_text = "%Y-%m-%dT%H:%M:%S.%e%z %v";
  constexpr const char* in_json = R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z",%v})";
  made->set_pattern(how.format == log_format::json ? in_json : in_text);
  return made;
}

std::shared_ptr<spdlog::logger> logger_to(std::shared_ptr<spdlog::sinks::sink> sink,
                                          const char* name) {
  auto made = std::make_shared<spdlog::logger>(name, std::move(sink));
  // The severity is filtered before the text of a line is created, so spdlog lets every line pass.
  made->set_level(spdlog::level::trace);
  made->flush_on(spdlog::level::off);
  return made;
}

}  // namespace

// A complete set of outputs. A line is written to one of them as a whole, even if the journal is
// reopened meanwhile.
struct journal::output {
  explicit output(const log_options& options)
      : how(options), requests_each_second(how.access_per_second, std::chrono::seconds(1)) {
    const auto sink = sink_for(how);
    lines = logger_to(sink, "troupe");
    lines->flush_on(spdlog::level::trace);
    requests = logger_to(sink, "access");
  }

  template <class Line>
  [[nodiscard]] std::string text_of(const Line& line) const {
    return how.format == log_format::json ? as_json(line) : as_text(line);
  }

  log_options how;
  std::shared_ptr<spdlog::logger> lines;
  std::shared_ptr<spdlog::logger> requests;  // flushed when the waiting lines are written
  mutable line_quota requests_each_second;
};

journal::journal(const log_options& how) : output_(std::make_shared<const output>(how)) {}
journal::~journal() = default;

void journal::reopen(const log_options& how) {
  auto next = std::make_shared<const output>(how);
  const std::lock_guard lock(mutex_);
  output_.swap(next);
}

std::shared_ptr<const journal::output> journal::current() const {
  const std::lock_guard lock(mutex_);
  return output_;
}

bool journal::writes(lua::severity how) const noexcept { return how >= current()->how.level; }

void journal::write(const lua::log_line& line) noexcept try {
  const auto to = current();
  if (line.how < to->how.level) return;
  to->lines->log(spdlog::level::info, spdlog::string_view_t(to->text_of(line)));
} catch (...) {
  // Without memory for a line, the failure cannot be logged either.
}

// ── The access log ────────────────────────────────────────────────────────────────────────────

void journal::write(const http::access& line) noexcept try {
  const auto to = current();
  if (!to->how.access) return;
  const time_point now = clock::now();
  if (!to->requests_each_second.take(now)) return leave_out();
  say_what_is_left_out(to, now);
  if (!queue_.push({to, std::chrono::system_clock::now(), to->text_of(line)})) leave_out();
} catch (...) {
  leave_out();
}

// At most once per second, before the first line that is written again.
void journal::say_what_is_left_out(const std::shared_ptr<const output>& to, time_point now) {
  const std::uint64_t all = left_out();
  // [count] relaxed: a number alone; only the thread that takes the quota gets here.
  if (all == said_left_out_.load(relaxed) || !sayings_.take(now)) return;
  const std::uint64_t before = said_left_out_.exchange(all, relaxed);  // [count] relaxed: as above
  const std::string text =
      std::to_string(all - before) +
      " lines of the access log were dropped: they exceeded log.access_per_second, or the disk was "
      "too slow";
  const lua::log_line line{
      .how = lua::severity::warning, .application = {}, .instance = 0, .text = text};
  (void)queue_.push({to, std::chrono::system_clock::now(), to->text_of(line)});
}

void journal::write_all(std::vector<waiting_line>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const waiting_line& line = lines[i];
    spdlog::logger& to = *line.to->requests;
    to.log(line.at, spdlog::source_loc{}, spdlog::level::info, spdlog::string_view_t(line.text));
    if (i + 1 == lines.size() || lines[i + 1].to != line.to) to.flush();
  }
}

void journal::settle() { queue_.settle(); }

void journal::write(lua::severity how, std::string_view text) noexcept {
  write(lua::log_line{.how = how, .application = {}, .instance = 0, .text = text});
}

}  // namespace troupe::server::detail
