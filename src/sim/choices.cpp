// SPDX-License-Identifier: Apache-2.0
#include <troupe/sim/choices.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "log_text.hpp"

namespace troupe::sim {

namespace {

// Parses the number at the beginning of `line` and removes it together with the following blank.
template <class Number>
bool take(std::string_view& line, Number& into) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), into);
  if (error != std::errc{}) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.empty()) {
    if (line.front() != ' ') return false;
    line.remove_prefix(1);
  }
  return true;
}

// The line may come from any file: unprintable characters become question marks, and long lines are
// cut.
std::string shown(std::string_view line) {
  constexpr std::size_t most = 60;
  std::string text(line.substr(0, most));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return line.size() > most ? text + "..." : text;
}

[[noreturn]] void refuse(std::size_t number, std::string_view line, const char* expected) {
  throw std::invalid_argument("troupe: line " + std::to_string(number) + " of a choice log is \"" +
                              shown(line) + "\": expected " + expected);
}

}  // namespace

// ── The log ───────────────────────────────────────────────────────────────────────────────────

std::string choice_log::text() const {
  std::string all;
  text_of(*this, [&](std::string_view piece) { all += piece; });
  return all;
}

choice_log choice_log::parse(std::string_view text) {
  choice_log log;
  // An empty text counts as one empty line and is rejected: the log file may never have been
  // written.
  for (std::size_t number = 1; number == 1 || !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string_view rest = line;
    if (number == 1) {
      const bool begins = rest.substr(0, first_word_of_log.size()) == first_word_of_log;
      if (begins) rest.remove_prefix(first_word_of_log.size());
      if (!begins || !take(rest, log.seed) || !rest.empty()) {
        refuse(number, line, "\"seed\" and a number");
      }
      continue;
    }
    choice one;
    if (!take(rest, one.chosen) || !take(rest, one.count) || one.chosen >= one.count) {
      refuse(number, line, "two numbers, the first one smaller, and the name of the choice");
    }
    log.choices.push_back(one);
  }
  return log;
}

// ── Choices ───────────────────────────────────────────────────────────────────────────────────

choices::choices(std::uint64_t seed) : numbers_(seed) { made_.seed = seed; }

choices::choices(choice_log replayed)
    : replayed_(std::move(replayed.choices)), replays_(true), numbers_(replayed.seed) {
  made_.seed = replayed.seed;
}

choices choices::from_environment(std::uint64_t seed) {
  if (const char* const path = std::getenv("TROUPE_SIM_LOG"); path != nullptr && *path != '\0') {
    std::ifstream file(path);
    if (!file) {
      throw std::invalid_argument("troupe: the file \"" + std::string(path) +
                                  "\" of TROUPE_SIM_LOG cannot be read");
    }
    return choices(choice_log::parse(
        std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>())));
  }
  if (const char* const text = std::getenv("TROUPE_SIM_SEED"); text != nullptr && *text != '\0') {
    const std::string_view all = text;
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), seed);
    if (error != std::errc{} || end != all.data() + all.size()) {
      throw std::invalid_argument("troupe: TROUPE_SIM_SEED is \"" + std::string(all) +
                                  "\": expected a number from 0 to 18446744073709551615");
    }
  }
  return choices(seed);
}

std::size_t choices::choose(std::size_t count, const char* of) {
  if (count < 2) return 0;
  std::size_t chosen = 0;
  if (const std::size_t at = made_.choices.size(); !replays_) {
    chosen = static_cast<std::size_t>(((numbers_() >> 32) * count) >> 32);
  } else if (at < replayed_.size()) {
    // An edited log may not fit exactly.
    chosen = std::min<std::size_t>(replayed_[at].chosen, count - 1);
  }
  made_.choices.push_back(
      {static_cast<std::uint32_t>(chosen), static_cast<std::uint32_t>(count), of});
  return chosen;
}

std::string write_log(std::uint64_t seed, const std::string& text) {
  const char* const folder = std::getenv("TROUPE_SIM_LOGS");
  std::error_code none;
  const std::filesystem::path in =
      folder != nullptr && *folder != '\0' ? folder : std::filesystem::temp_directory_path(none);
  const std::filesystem::path path =
      in / ("troupe-sim-" + std::to_string(seed) + "-" + std::to_string(::getpid()) + ".log");
  std::ofstream file(path);
  file << text;
  return file.flush() ? path.string() : std::string();
}

}  // namespace troupe::sim
