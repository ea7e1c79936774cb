// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <string_view>

#include "character_set.hpp"

namespace troupe::lua::detail {

/// An error in a pattern, in Lua's words.
class pattern_error : public std::exception {
 public:
  /// `what` must be a string literal.
  explicit pattern_error(const char* what) noexcept;
  static pattern_error invalid_capture(int index) noexcept;

  const char* what() const noexcept override { return text_.data(); }

 private:
  std::array<char, 64> text_;
};

/// Receives the number of steps that matching takes. A step takes about as long as an instruction
/// of Lua. Throwing stops the matching.
struct step_meter {
  void (*spend)(void* self, std::size_t steps);
  void* self;
};

/// Searches a text for a pattern of Lua 5.4: Lua's reference manual, §6.4.1.
///
/// It backtracks like Lua's own matcher. A pattern can be written that takes practically forever,
/// so each step is reported. An error in a pattern is found only when matching reaches it. Classes
/// are those of the C locale.
///
/// Invariant: pattern and subject outlive the matcher. It allocates nothing, and its calls nest at
///            most nesting_max deep.
/// Errors:    pattern_error, and exceptions of the meter.
class pattern_matcher {
 public:
  static constexpr int captures_max = 32;
  static constexpr int nesting_max = 200;

  pattern_matcher(std::string_view subject, std::string_view pattern, step_meter meter) noexcept
      : subject_(subject), pattern_(pattern), meter_(meter) {}

  /// For a matcher that another caller uses again.
  void report_to(step_meter meter) noexcept { meter_ = meter; }

  /// Searches for the first match that begins at `from` or later, or only at `from`. Returns true
  /// if there is one; the functions below describe it.
  bool search(std::size_t from);
  bool match_at(std::size_t from);

  [[nodiscard]] std::size_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t end() const noexcept { return end_; }
  [[nodiscard]] std::string_view all() const noexcept {
    return subject_.substr(begin_, end_ - begin_);
  }

  struct capture {
    std::string_view text;
    std::optional<std::size_t> position;  // for (), counted from 0; it captures no text
  };
  [[nodiscard]] int captures() const noexcept { return captures_; }
  /// The whole match is index 0 if the pattern has no captures.
  [[nodiscard]] capture captured(int index) const;

  /// Reports the steps since the last report. During a search, every 1,000 steps are reported.
  void settle() { report(0); }

 private:
  enum class kind : unsigned char { open, position, closed };
  struct part {
    const char* begin;
    const char* end;
    kind is;
  };

  const char* pattern_end() const noexcept { return pattern_.data() + pattern_.size(); }
  const char* subject_end() const noexcept { return subject_.data() + subject_.size(); }

  const char* match(const char* at, const char* item, int nesting);
  const char* match_open(const char* at, const char* item, int nesting);
  const char* match_close(const char* at, const char* item, int nesting);
  const char* match_greedy(const char* at, const char* item, const char* after, int nesting);
  const char* match_lazy(const char* at, const char* item, const char* after, int nesting);
  const char* match_balanced(const char* at, const char* ends);
  const char* match_again(const char* at, char digit);
  const char* match_frontier(const char* at, const char* item);

  const char* end_of_single(const char* item) const;
  bool is_single(const char* at, const char* item, const char* after) const noexcept;
  const char* run_of(const char* at, const char* item, const char* after) const noexcept;
  int checked(char digit) const;

  void prepare();
  const char* next_candidate(const char* at) const noexcept;

  bool found(const char* from, const char* to) noexcept;
  void spend(std::size_t steps) {
    if (steps < unreported_) {
      unreported_ -= steps;
    } else {
      report(steps);
    }
  }
  void report(std::size_t more);

  static constexpr std::size_t report_each = 1'000;
  // The required beginning of a match, if the pattern shows it. Other places are then skipped.
  enum class start : unsigned char { unknown, any, literal, set };

  const std::string_view subject_;
  const std::string_view pattern_;
  step_meter meter_;
  std::size_t unreported_ = report_each;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  int captures_ = 0;
  start begins_ = start::unknown;
  char literal_ = '\0';
  character_set set_;
  std::array<part, captures_max> parts_;
};

/// Returns whether a pattern matches only its own text.
[[nodiscard]] bool is_literal(std::string_view pattern) noexcept;

}  // namespace troupe::lua::detail
