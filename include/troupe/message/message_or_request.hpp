// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <troupe/message/handler.hpp>

// The items that a recipient lists: messages, and requests with the type of their reply.

namespace troupe {

namespace detail {

template <class Item>
struct listed_item {
  static constexpr bool is_request = false;
};
template <message M>
struct listed_item<M> {
  using message_type = M;
  static constexpr bool is_request = false;
};
template <class R, message M>
  requires std::is_object_v<R> && std::same_as<R, std::remove_cv_t<R>>
struct listed_item<R(M)> {
  using message_type = M;
  using reply_type = R;
  static constexpr bool is_request = true;
};

template <class Item>
concept request_signature = listed_item<Item>::is_request;

}  // namespace detail

/// An item in the list of a recipient: a message M, which is sent; or a request, written as the
/// signature R(M), which is asked with M and answered with exactly R. R is an object type without
/// const.
template <class Item>
concept message_or_request = message<Item> || detail::request_signature<Item>;

/// Compile error: a request is sent to a recipient that lists the message without the type of its
/// reply. List it as `Reply(Message)`, for example `recipient<long(get_balance)>`. This type is
/// never defined; the error names it.
template <class Recipient, class Message>
struct recipient_lists_no_reply;

/// Compile error: a message is sent with send() to a recipient that lists it only as a request. Use
/// ask(), or list the message itself as well: `recipient<get_balance, long(get_balance)>`. This
/// type is never defined; the error names it.
template <class Recipient, class Message>
struct recipient_lists_only_the_request;

namespace detail {

template <class Item, class... Items>
inline constexpr bool lists_item = (std::same_as<Item, Items> || ...);

/// The position of an item in the list; the number of items if it is not listed.
template <class Item, class... Items>
consteval std::size_t place_in_list() {
  std::size_t at = 0;
  (void)((std::same_as<Item, Items> || (++at, false)) || ...);
  return at;
}

template <class Item, class M>
consteval bool is_request_of() {
  if constexpr (request_signature<Item>) {
    return std::same_as<typename listed_item<Item>::message_type, M>;
  } else {
    return false;
  }
}

/// The request in a list that is asked with M; `type` is void if the list has no such request.
template <class M, class... Items>
struct request_in_list {
  using type = void;
};
template <class M, class First, class... Rest>
struct request_in_list<M, First, Rest...>
    : std::conditional_t<is_request_of<First, M>(), std::type_identity<First>,
                         request_in_list<M, Rest...>> {};

/// Every message has at most one type of reply in the list.
template <class... Items>
inline constexpr bool has_one_reply_each = true;
template <class First, class... Rest>
inline constexpr bool has_one_reply_each<First, Rest...> =
    has_one_reply_each<Rest...> &&
    (!request_signature<First> ||
     (!is_request_of<Rest, typename listed_item<First>::message_type>() && ...));

/// The error for a message that is not in the list: the never-defined type that says why.
template <class Recipient, class M, class... Items>
using not_sendable = std::conditional_t<std::is_void_v<typename request_in_list<M, Items...>::type>,
                                        actor_does_not_understand_message<Recipient, M>,
                                        recipient_lists_only_the_request<Recipient, M>>;

/// The error for a message that is not in the list as a request.
template <class Recipient, class M, class... Items>
using not_askable =
    std::conditional_t<lists_item<M, Items...>, recipient_lists_no_reply<Recipient, M>,
                       actor_does_not_understand_message<Recipient, M>>;

}  // namespace detail
}  // namespace troupe
