// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/detail/actor/control_block.hpp>

namespace troupe {

/// Compile error: the argument of a reference_visitor is not a `ref` or `recipient` member of the
/// actor. A `weak_ref` or an address keeps no actor alive, and a copy made for the call is not held
/// by the actor. This type is never defined; the error names it.
template <class T>
struct is_no_reference_that_the_actor_holds;

namespace detail {

struct listed_references;
void list(listed_references& in, control_block& target, const void* handle);

template <class T>
inline constexpr bool is_reference = false;
template <class A>
inline constexpr bool is_reference<ref<A>> = true;
template <message_or_request... Items>
inline constexpr bool is_reference<recipient<Items...>> = true;

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

/// Collects the references that an actor holds, to find actors that are referenced only by each
/// other:
///
///   void references(troupe::reference_visitor& visit) const {
///     visit(next_);
///     visit(peers_);                                      // a range of them, or an optional one
///     for (const auto& [name, desk] : desks_) visit(desk);
///   }
///
/// A reference that is not listed counts as held from outside. An actor may therefore leave out any
/// reference: fewer cycles are then collected, but never an actor that is still in use. An actor
/// must itself hold the references that it lists, in its own members or in objects that it alone
/// owns.
///
/// Threads: references() is called on any thread, while the actor is idle and none of its other
///          functions runs. It must only visit.
/// Errors:  an exception that leaves references() is ignored; references listed before it count.
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
  template <message_or_request... Items>
  static detail::control_block& block(const recipient<Items...>& of) noexcept {
    return detail::recipient_access::block(of);
  }

  detail::listed_references& in_;
};

}  // namespace troupe
