// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include <troupe/actor/reply.hpp>
#include <troupe/message/handler.hpp>

namespace troupe::testkit {

/// In the list of a probe or a stub: M is asked, and answered with an R. And what a probe has received of it: the
/// message, and the answer that is owed. Let go of, it is not answered: ask_error::unanswered.
///
/// Threads: a value that one thread uses at a time. It ends before the system does in which it was asked.
template <message M, class R>
struct question {
  M message;
  troupe::reply<R> owed;

  /// False: nobody waits for it: it was sent, and not asked, or is answered already.
  bool reply(R answer) { return owed.fulfil(std::move(answer)); }
  /// Who asked gets ask_error::failed. False: as above.
  bool fail() noexcept { return owed.fail(); }
};

namespace detail {

// What stands in a list: a message, or a question.
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

/// The one of the list that M names: by itself, or as the message of a question.
template <class M, class... Items>
struct named {
  static constexpr std::size_t place = place_of<M, Items...>();
  static_assert(place < sizeof...(Items), "this message is not in the list");
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
