// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::sim {

/// The seed of a run and all choices made in it, in order. The same choices reproduce the run.
struct choice_log {
  struct choice {
    std::uint32_t chosen = 0;
    std::uint32_t count = 0;  // the number of alternatives; chosen is less
    const char* of = "";      // a constant that names the choice; not compared
    friend bool operator==(const choice& one, const choice& other) noexcept {
      return one.chosen == other.chosen && one.count == other.count;
    }
  };

  std::uint64_t seed = 0;
  std::vector<choice> choices;

  /// Returns the log as text: one line for the seed, and one line "chosen count what" for each
  /// choice.
  [[nodiscard]] std::string text() const;
  /// Parses the text of a log. Throws std::invalid_argument, which quotes the line, if a line is
  /// malformed.
  [[nodiscard]] static choice_log parse(std::string_view text);
};

/// Writes the text of a log to a file in the folder TROUPE_SIM_LOGS, or else in the folder for
/// temporary files. Returns its path; empty if it could not be written.
[[nodiscard]] std::string write_log(std::uint64_t seed, const std::string& text);

/// The source of all choices in a run: a seed or a log. After the end of a log, always the first
/// alternative is chosen.
///
/// Threads: one.
/// Cost:    16 bytes per choice.
class choices {
 public:
  explicit choices(std::uint64_t seed);
  explicit choices(choice_log replayed);

  /// Uses the log in the file TROUPE_SIM_LOG, or the seed TROUPE_SIM_SEED, if the environment has
  /// one of them; otherwise `seed`. Throws std::invalid_argument for a malformed log or number.
  [[nodiscard]] static choices from_environment(std::uint64_t seed);

  /// Chooses a number below `count`. If `count` is 1, no choice is recorded.
  [[nodiscard]] std::size_t choose(std::size_t count, const char* of);

  [[nodiscard]] const choice_log& log() const noexcept { return made_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return made_.seed; }

 private:
  choice_log made_;
  std::vector<choice_log::choice> replayed_;
  bool replays_ = false;
  // The engine's numbers are the same on every platform; those of standard distributions are not.
  std::mt19937_64 numbers_;
};

}  // namespace troupe::sim
