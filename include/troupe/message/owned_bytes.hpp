// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <troupe/detail/message/members.hpp>

namespace troupe {

// The memory that a message owns outside of itself, which counts towards the byte limits of
// mailboxes and the memory budgets. The following types are counted automatically: strings,
// containers with an allocator, std::unique_ptr, std::optional, std::variant, pairs, tuples and
// arrays of them, and plain structs with such members. A plain struct is an aggregate without a
// base class, with at most 16 members that can be initialised from empty braces. Any other type
// declares it:
//
//   class line {
//    public:
//     explicit line(std::string text);
//     std::size_t owned_bytes() const noexcept { return text_.capacity(); }
//   };
//
// The result must not change while the message waits: it is queried when the message is sent, and
// when it is handled. Shared objects (std::shared_ptr) are not owned. A plain struct with a member
// that cannot be decomposed, an anonymous union, does not compile unless it has owned_bytes().
//
// Cost: for containers, a step for each element if elements may own memory themselves.

namespace detail {

template <class M>
concept has_owned_bytes = requires(const M& m) {
  { m.owned_bytes() } noexcept -> std::convertible_to<std::size_t>;
};

/// A container whose elements lie in memory of its allocator.
template <class C>
concept allocating_container = requires(const C& c) {
  typename C::value_type;
  typename C::allocator_type;
  c.begin();
  c.end();
};

template <class P>
concept owning_pointer = requires(const P& p) {
  typename P::element_type;
  typename P::deleter_type;
  p.get();
};

template <class O>
concept optional_value = requires(const O& o) {
  typename O::value_type;
  { o.has_value() } -> std::same_as<bool>;
  *o;
};

template <class V>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;

template <class T>
concept tuple_like = requires { std::tuple_size<T>::value; };

template <class T>
concept has_size = requires { sizeof(T); };

template <class M>
consteval bool owns_something();

template <class Tuple, std::size_t... I>
consteval bool any_element_owns(std::index_sequence<I...>) {
  return (owns_something<std::remove_cv_t<std::tuple_element_t<I, Tuple>>>() || ...);
}

template <class V>
inline constexpr bool any_alternative_owns = false;
template <class... Ts>
inline constexpr bool any_alternative_owns<std::variant<Ts...>> = (owns_something<Ts>() || ...);

struct any_member_owns {
  template <class... Ms>
  constexpr auto operator()(const Ms&...) const noexcept {
    return std::bool_constant<(owns_something<std::remove_cv_t<Ms>>() || ...)>{};
  }
};

/// Returns whether owned_bytes() may be more than 0 for an object of this type.
template <class M>
consteval bool owns_something() {
  if constexpr (has_owned_bytes<M> || allocating_container<M> || owning_pointer<M>) {
    return true;
  } else if constexpr (std::is_array_v<M>) {
    return owns_something<std::remove_cv_t<std::remove_all_extents_t<M>>>();
  } else if constexpr (std::is_trivially_copyable_v<M> || !std::is_class_v<M>) {
    return false;
  } else if constexpr (optional_value<M>) {
    return owns_something<std::remove_cv_t<typename M::value_type>>();
  } else if constexpr (is_variant<M>) {
    return any_alternative_owns<M>;
  } else if constexpr (tuple_like<M>) {
    return any_element_owns<M>(std::make_index_sequence<std::tuple_size_v<M>>());
  } else if constexpr (std::is_aggregate_v<M>) {
    if constexpr (count_members<M>() != 0) {
      return decltype(visit_members(std::declval<const M&>(), any_member_owns{}))::value;
    } else {
      return false;
    }
  } else {
    return false;
  }
}

template <class M>
[[nodiscard]] std::size_t owned_bytes(const M& message) noexcept;

template <class Range>
std::size_t owned_by_elements(const Range& of) noexcept {
  using element = std::remove_cvref_t<decltype(*of.begin())>;
  std::size_t sum = 0;
  if constexpr (owns_something<element>()) {
    for (const auto& each : of) sum += owned_bytes<element>(each);
  }
  return sum;
}

// Nodes of lists and trees contain pointers, and so do the buckets of hash tables.
template <class C>
std::size_t owned_by_container(const C& of) noexcept {
  using value = typename C::value_type;
  if constexpr (requires { of.capacity(); }) {
    if constexpr (std::is_same_v<value, bool>) {
      return of.capacity() / 8;
    } else {
      const void* const data = [&]() -> const void* {
        if constexpr (requires { of.data(); }) {
          return of.data();
        } else {
          return nullptr;
        }
      }();
      const auto at = reinterpret_cast<std::uintptr_t>(data);
      const auto own = reinterpret_cast<std::uintptr_t>(&of);
      if (at >= own && at < own + sizeof(C)) return 0;  // a short string
      return of.capacity() * sizeof(value) + owned_by_elements(of);
    }
  } else {
    std::size_t count = 0;
    if constexpr (requires { of.size(); }) {
      count = of.size();
    } else {
      for (auto each = of.begin(); each != of.end(); ++each) ++count;
    }
    std::size_t node = 4 * sizeof(void*);
    if constexpr (
        requires { of[std::size_t{0}]; } && !requires { typename C::key_type; }) {
      node = 0;  // of a deque
    }
    std::size_t sum = count * (sizeof(value) + node) + owned_by_elements(of);
    if constexpr (requires { of.bucket_count(); }) sum += of.bucket_count() * sizeof(void*);
    return sum;
  }
}

/// Returns the bytes that the message owns outside of itself.
template <class M>
std::size_t owned_bytes(const M& message) noexcept {
  if constexpr (has_owned_bytes<M>) {
    return message.owned_bytes();
  } else if constexpr (allocating_container<M>) {
    return owned_by_container(message);
  } else if constexpr (owning_pointer<M>) {
    using element = std::remove_cv_t<typename M::element_type>;
    if constexpr (has_size<element> && std::is_object_v<element> && requires { *message; }) {
      if (message.get() == nullptr) return 0;
      return sizeof(element) + owned_bytes<element>(*message);
    } else {
      return 0;
    }
  } else if constexpr (!owns_something<M>()) {
    return 0;
  } else if constexpr (std::is_array_v<M>) {
    std::size_t sum = 0;
    for (const auto& each : message) sum += owned_bytes<std::remove_cvref_t<decltype(each)>>(each);
    return sum;
  } else if constexpr (optional_value<M>) {
    using value = std::remove_cv_t<typename M::value_type>;
    return message.has_value() ? owned_bytes<value>(*message) : 0;
  } else if constexpr (is_variant<M>) {
    if (message.valueless_by_exception()) return 0;
    return std::visit(
        [](const auto& v) noexcept { return owned_bytes<std::remove_cvref_t<decltype(v)>>(v); },
        message);
  } else if constexpr (tuple_like<M> && requires { message.begin(); }) {  // std::array
    return owned_by_elements(message);
  } else {
    const auto sum = [](const auto&... each) noexcept {
      return (std::size_t{0} + ... + owned_bytes<std::remove_cvref_t<decltype(each)>>(each));
    };
    if constexpr (tuple_like<M>) {
      return std::apply(sum, message);
    } else {
      return visit_members(message, sum);
    }
  }
}

template <class M>
concept tells_what_it_owns = owns_something<M>();

}  // namespace detail
}  // namespace troupe
