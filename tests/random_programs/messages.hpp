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

/// What a handler, a constructor or a move throws because the program says so.
class on_purpose : public std::runtime_error {
 public:
  on_purpose() : std::runtime_error("on purpose") {}
};

/// The kinds of messages whose fate is known one by one, and of those that are only counted.
enum class kind : std::uint8_t {
  parcel,
  urgent,   // of high priority
  heavy,    // owns bytes
  limited,  // at most two of them wait
  fragile,  // its move may throw
  item,     // handled in batches
  tick,     // of a timer
  last_letter = tick,
  note,   // of a topic, shared by its subscribers
  chirp,  // of a topic, a copy for each subscriber
  request,
  other,
  count
};
inline constexpr std::size_t kinds = static_cast<std::size_t>(kind::count);
inline constexpr std::size_t letter_kinds = static_cast<std::size_t>(kind::last_letter) + 1;

/// A state machine that is locked defers them.
[[nodiscard]] constexpr bool is_deferred(kind what) noexcept {
  return what == kind::parcel || what == kind::urgent || what == kind::limited;
}

/// The identity of one message. It moves with the message; whoever destroys it decides the message's fate.
class token {
 public:
  token() = default;
  explicit token(int id) noexcept;
  token(token&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  /// Another message, of the same timer.
  token(const token& other);
  token& operator=(token other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~token();

  /// -1: it has been moved from.
  [[nodiscard]] int id() const noexcept { return id_; }
  /// Throws if the message has been moved as often as it can be.
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

/// Requests: of a value, which is answered by the next one.
struct question {
  int value;
};
struct slow_question {  // its handler waits before it answers
  int value;
};
struct later_question {  // its reply is kept
  int value;
};

/// What a program tells an actor to do; see operations.hpp.
struct order {
  int what;
  int other;
  int number;
  int then = 0;  // of a slow one: what it does at once when it goes on
};
struct act : order {};    // at once
struct slow : order {};   // in a handler that is a coroutine
struct alone : order {};  // in an exclusive one

struct flip {};  // a state machine changes its state

}  // namespace troupe::random_programs
