// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>

namespace troupe {

/// Never defined. The compiler names it, with the type, when a reference_visitor is given what is no
/// `ref` and no `recipient` of the actor's own: a `weak_ref` or an address keeps nothing alive, and a
/// copy that is made for the call is not what the actor holds.
template <class T>
struct is_no_reference_that_the_actor_holds;

namespace detail {

struct listed_references;
void list(listed_references& in, control_block& target, const void* handle);

template <class T>
inline constexpr bool is_reference = false;
template <class A>
inline constexpr bool is_reference<ref<A>> = true;
template <message... Messages>
inline constexpr bool is_reference<recipient<Messages...>> = true;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
concept range_to_list = requires(const T& many) {
  std::begin(many);
  std::end(many);
};

}  // namespace detail

/// Is told which references an actor holds, so that actors are found that hold each other and whom
/// nobody else holds:
///
///   void references(troupe::reference_visitor& visit) const {
///     visit(next_);
///     visit(peers_);                                      // a range of them, or an optional one
///     for (const auto& [name, desk] : desks_) visit(desk);
///   }
///
/// What an actor does not list counts as held from outside: then less is collected, and nothing wrongly.
/// What it lists it must hold itself, in its own members and in what they own alone. It may leave
/// out what it likes.
///
/// Threads: references() is called on any thread, while the actor is idle and no other of its functions
///          runs. It only visits.
/// Errors:  an exception out of references() is forgotten; what was listed before it counts.
class reference_visitor {
 public:
  explicit reference_visitor(detail::listed_references& in) noexcept : in_(in) {}
  reference_visitor(const reference_visitor&) = delete;
  reference_visitor& operator=(const reference_visitor&) = delete;

  template <class T>
  void operator()(T&& held) {
    using type = std::remove_cvref_t<T>;
    if constexpr (!std::is_lvalue_reference_v<T>) {
      static_cast<void>(sizeof(is_no_reference_that_the_actor_holds<type>));
    } else if constexpr (detail::is_reference<type>) {
      if (held) detail::list(in_, block(held), &held);
    } else if constexpr (detail::is_optional<type>) {
      if (held) (*this)(*held);
    } else if constexpr (detail::range_to_list<type>) {
      for (auto&& each : held) (*this)(std::forward<decltype(each)>(each));
    } else {
      static_cast<void>(sizeof(is_no_reference_that_the_actor_holds<type>));
    }
  }

 private:
  template <class A>
  static detail::control_block& block(const ref<A>& of) noexcept {
    return detail::ref_access::block(of);
  }
  template <message... Messages>
  static detail::control_block& block(const recipient<Messages...>& of) noexcept {
    return detail::recipient_access::block(of);
  }

  detail::listed_references& in_;
};

}  // namespace troupe
