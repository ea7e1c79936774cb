// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace troupe::lab {

/// The result of a push. `to_idle`: there is no reader, and the caller must appoint one. `full`,
/// `closed`: the message was not accepted.
enum class pushed : std::uint8_t { to_busy, to_idle, full, closed };

constexpr bool is_taken(pushed result) noexcept {
  return result == pushed::to_busy || result == pushed::to_idle;
}

inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

/// A mailbox that an actor could use: many threads push, one reads, and a push returns whether its
/// caller has to appoint the reader. The creator is the first reader.
///
///   push(M&&)           from any thread. A message that is refused because the mailbox is full is
///                       unchanged; one that finds it closed may be gone.
///   drain(handle, most) the reader: calls handle(M&&) with the messages, oldest first, at most
///                       `most` times, and returns the number of calls. A message is destroyed
///                       after its call, even if that throws; the other messages then remain.
///   rest()              the reader: returns true if no message has arrived; the caller is then no
///                       longer the reader, and must not touch the mailbox.
template <class Box>
concept candidate = requires(Box box, typename Box::value_type message,
                             void (*handle)(typename Box::value_type&&)) {
  { box.push(std::move(message)) } -> std::same_as<pushed>;
  { box.drain(handle, std::size_t{1}) } -> std::same_as<std::size_t>;
  { box.rest() } -> std::same_as<bool>;
};

/// Accepts several messages in one step: all of them, or none.
template <class Sender, class M>
concept takes_batches = requires(Sender to, std::span<M> messages) {
  { to.push_all(messages) } -> std::same_as<pushed>;
};

/// Calls handle(M&&) for each remaining message, and accepts no more.
template <class Box>
concept closes = requires(Box box, void (*handle)(typename Box::value_type&&)) {
  { box.close(handle) } -> std::same_as<std::size_t>;
};

/// The private state of a sender, if the candidate requires it: a chain of collected messages, or
/// its own memory. It belongs to one thread, and lives no longer than the mailbox.
template <class Box>
struct sender_of {
  using type = Box&;
};
template <class Box>
  requires requires { typename Box::sender; }
struct sender_of<Box> {
  using type = typename Box::sender;
};
template <class Box>
using sender_of_t = typename sender_of<Box>::type;

/// Destroys a message when its handler has finished with it.
template <class M>
struct destroy_after {
  explicit destroy_after(M& one) : message(one) {}
  destroy_after(const destroy_after&) = delete;
  destroy_after& operator=(const destroy_after&) = delete;
  ~destroy_after() { std::destroy_at(&message); }
  M& message;
};

}  // namespace troupe::lab
