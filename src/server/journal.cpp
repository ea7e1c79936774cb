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
  // Which lines are written is decided before their text is made.
  made->set_level(spdlog::level::trace);
  made->flush_on(spdlog::level::trace);
  return made;
}

}  // namespace

// A line is written as one of these says, whole, whatever becomes of the journal meanwhile.
struct journal::output {
  explicit output(const log_options& options) : how(options) {
    const auto sink = sink_for(how);
    lines = logger_to(sink, "troupe");
    requests = logger_to(sink, "access");
  }

  template <class Line>
  void write(spdlog::logger& to, const Line& line) const {
    const std::string text = how.format == log_format::json ? as_json(line) : as_text(line);
    to.log(spdlog::level::info, spdlog::string_view_t(text));
  }

  log_options how;
  std::shared_ptr<spdlog::logger> lines;
  std::shared_ptr<spdlog::logger> requests;
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
  if (line.how >= to->how.level) to->write(*to->lines, line);
} catch (...) {
  // Without memory for a line there is no place to say so either.
}

void journal::write(const http::access& line) noexcept try {
  const auto to = current();
  if (to->how.access) to->write(*to->requests, line);
} catch (...) {
}

void journal::write(lua::severity how, std::string_view text) noexcept {
  write(lua::log_line{.how = how, .application = {}, .instance = 0, .text = text});
}

}  // namespace troupe::server::detail
