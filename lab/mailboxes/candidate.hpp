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

/// What became of a message. `to_idle`: nobody reads, the caller must see to it that somebody does.
/// `full`, `closed`: it was not taken.
enum class pushed : std::uint8_t { to_busy, to_idle, full, closed };

constexpr bool is_taken(pushed result) noexcept {
  return result == pushed::to_busy || result == pushed::to_idle;
}

inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

/// A mailbox that could stand in an actor: many push, one reads, and a push says whether it has to
/// appoint the reader. Whoever makes it is its first reader.
///
///   push(M&&)           from anywhere. A message that is refused because the mailbox is full is as
///                       it was; one that finds it closed may be gone.
///   drain(handle, most) the reader: calls handle(M&&) with what is there, oldest first, at most
///                       `most` times, and returns how often. A message is destroyed after its call, also
///                       if that throws; then the rest stays.
///   rest()              the reader: true if nothing has come; then it is the reader no more, and
///                       must not touch the mailbox.
template <class Box>
concept candidate = requires(Box box, typename Box::value_type message,
                             void (*handle)(typename Box::value_type&&)) {
  { box.push(std::move(message)) } -> std::same_as<pushed>;
  { box.drain(handle, std::size_t{1}) } -> std::same_as<std::size_t>;
  { box.rest() } -> std::same_as<bool>;
};

/// Takes several messages in one step: all of them, or none.
template <class Sender, class M>
concept takes_batches = requires(Sender to, std::span<M> messages) {
  { to.push_all(messages) } -> std::same_as<pushed>;
};

/// Calls handle(M&&) for each message that is left, and takes no more.
template <class Box>
concept closes = requires(Box box, void (*handle)(typename Box::value_type&&)) {
  { box.close(handle) } -> std::same_as<std::size_t>;
};

/// What a sender keeps to itself, where the candidate wants that: a chain that it gathers, memory
/// that is its own. One thread each; it lives no longer than the mailbox.
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

/// Destroys a message when its handler is done with it.
template <class M>
struct destroy_after {
  explicit destroy_after(M& one) : message(one) {}
  destroy_after(const destroy_after&) = delete;
  destroy_after& operator=(const destroy_after&) = delete;
  ~destroy_after() { std::destroy_at(&message); }
  M& message;
};

}  // namespace troupe::lab
