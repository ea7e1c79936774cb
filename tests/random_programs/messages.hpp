// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/message/priority.hpp>

namespace troupe::random_programs {

class world;

/// Thrown by a handler, a constructor or a move because the program requires it.
class on_purpose : public std::runtime_error {
 public:
  on_purpose() : std::runtime_error("on purpose") {}
};

/// The kinds of messages whose fate is tracked one by one, and of those that are only counted.
enum class kind : std::uint8_t {
  parcel,
  urgent,   // with high priority
  heavy,    // owns bytes
  limited,  // at most two of them may wait
  fragile,  // its move may throw
  item,     // handled in batches
  tick,     // sent by a timer
  last_letter = tick,
  note,   // published on a topic, shared by its subscribers
  chirp,  // published on a topic, a copy for each subscriber
  request,
  other,
  count
};
inline constexpr std::size_t kinds = static_cast<std::size_t>(kind::count);
inline constexpr std::size_t letter_kinds = static_cast<std::size_t>(kind::last_letter) + 1;

/// A locked state machine defers these.
[[nodiscard]] constexpr bool is_deferred(kind what) noexcept {
  return what == kind::parcel || what == kind::urgent || what == kind::limited;
}

/// The identity of one message. It moves with the message. Its destruction decides the message's
/// fate.
class token {
 public:
  token() = default;
  explicit token(int id) noexcept;
  token(token&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  /// Creates another message of the same timer.
  token(const token& other);
  token& operator=(token other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~token();

  /// -1 if it has been moved from.
  [[nodiscard]] int id() const noexcept { return id_; }
  /// Throws if the message has been moved as often as allowed.
  void before_move(int moves_left) const;

 private:
  int id_ = -1;
};

struct parcel {
  token id;
};
struct urgent {
  static constexpr auto priority = troupe::priority::high;
  token id;
};
struct heavy {
  token id;
  std::string text;
};
struct limited {
  token id;
};
struct item {
  token id;
};
struct tick {
  token id;
};
struct fragile {
  fragile(token its, int moves) : id(std::move(its)), moves_left(moves) {}
  fragile(fragile&& other)
      : id((other.id.before_move(other.moves_left), std::move(other.id))),
        moves_left(other.moves_left - 1) {}
  token id;
  int moves_left;
};

struct note {
  int publisher;
  int number;
  std::array<char, 40> text{};
};
struct chirp {
  int publisher;
  int number;
};

/// Requests with a value; the reply is the next value.
struct question {
  int value;
};
struct slow_question {  // its handler waits before it replies
  int value;
};
struct later_question {  // its reply is kept for later
  int value;
};

/// An operation that a program orders an actor to execute; see cast.hpp.
struct order {
  int what;
  int other;
  int number;
  int then = 0;  // for a slow operation: the immediate operation when it resumes
};
struct act : order {};    // immediately
struct slow : order {};   // in a handler that is a coroutine
struct alone : order {};  // in an exclusive handler

struct flip {};  // a state machine changes its state

}  // namespace troupe::random_programs
