// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::sim {

/// All that was left open in a run, and how it was decided, in order. The same choices make the same run.
struct choice_log {
  struct choice {
    std::uint32_t chosen = 0;
    std::uint32_t count = 0;  // of those there were; chosen is less
    const char* of = "";      // what was chosen, a constant; not compared
    friend bool operator==(const choice& one, const choice& other) noexcept {
      return one.chosen == other.chosen && one.count == other.count;
    }
  };

  std::uint64_t seed = 0;
  std::vector<choice> choices;

  /// A line for the seed and one for each choice: «chosen count what».
  [[nodiscard]] std::string text() const;
  /// Throws std::invalid_argument with the line that is not of this form.
  [[nodiscard]] static choice_log parse(std::string_view text);
};

/// The text of a log, in a file in TROUPE_SIM_LOGS, or else in the folder for temporary files. Returns where that is;
/// empty if it could not be written.
[[nodiscard]] std::string write_log(std::uint64_t seed, const std::string& text);

/// Who decides: a seed, or a log as far as it goes, and then the first of all that there is.
///
/// Threads: one.
/// Cost:    16 bytes a choice.
class choices {
 public:
  explicit choices(std::uint64_t seed);
  explicit choices(choice_log replayed);

  /// By the log in the file TROUPE_SIM_LOG, or by TROUPE_SIM_SEED, if there is one of these in the environment;
  /// else by `seed`. Throws std::invalid_argument for one that is no log, or no number.
  [[nodiscard]] static choices from_environment(std::uint64_t seed);

  /// One of so many, from 0; no choice is recorded where there is only one.
  [[nodiscard]] std::size_t choose(std::size_t count, const char* of);

  [[nodiscard]] const choice_log& log() const noexcept { return made_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return made_.seed; }

 private:
  choice_log made_;
  std::vector<choice_log::choice> replayed_;
  bool replays_ = false;
  // Its numbers are the same everywhere; those of the standard's distributions are not.
  std::mt19937_64 numbers_;
};

}  // namespace troupe::sim
