// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include <troupe/actor/reply.hpp>
#include <troupe/message/handler.hpp>

namespace troupe::testkit {

/// Declares, in the list of a probe or a stub, that M is a request with a reply of type R. It is
/// also the object that a probe receives: the message and the pending reply. If it is destroyed
/// without a reply, the requester gets ask_error::unanswered.
///
/// Threads: a value that one thread uses at a time. It must be destroyed before the system of the
///          request.
template <message M, class R>
struct question {
  M message;
  troupe::reply<R> owed;

  /// Sends the reply. False if no requester waits for it: the message was sent and not asked, or
  /// the reply was already sent.
  bool reply(R answer) { return owed.set_value(std::move(answer)); }
  /// Fails the request with ask_error::failed. False: as for reply().
  bool fail() noexcept { return owed.fail(); }
};

namespace detail {

// Describes an item of the list: a message or a question.
template <class Item>
struct listed {
  using message = Item;
  static constexpr bool is_question = false;
  static void let_go(Item&) noexcept {}
};
template <class M, class R>
struct listed<question<M, R>> {
  using message = M;
  using answer = R;
  static constexpr bool is_question = true;
  static void let_go(question<M, R>& asked) noexcept { asked.owed = {}; }
};

template <class M, class Item>
inline constexpr bool is_called =
    std::is_same_v<M, Item> || std::is_same_v<M, typename listed<Item>::message>;

template <class M, class... Items>
consteval std::size_t place_of() {
  std::size_t at = 0;
  (void)((is_called<M, Items> || (++at, false)) || ...);
  return at;
}

/// The item that M names: the item itself, or a question by its message.
template <class M, class... Items>
struct named {
  static constexpr std::size_t place = place_of<M, Items...>();
  static_assert(place < sizeof...(Items), "this message type is not in the list of message types");
  using type = std::variant_alternative_t<place, std::variant<Items...>>;
};

template <class... Items>
inline constexpr bool are_distinct = true;
template <class First, class... Rest>
inline constexpr bool are_distinct<First, Rest...> =
    (!std::is_same_v<typename listed<First>::message, typename listed<Rest>::message> && ...) &&
    are_distinct<Rest...>;

}  // namespace detail
}  // namespace troupe::testkit
