// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

// Access to the members of a plain struct, for owned_bytes().

namespace troupe::detail {

/// Converts to any type; the conversion is never executed.
struct any_member {
  template <class T>
  constexpr operator T() const noexcept;
};

/// Converts to the base classes of T.
template <class T>
struct any_base_of {
  template <class B>
    requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
  constexpr operator B() const noexcept;
};

#if defined __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wmissing-braces"
#endif

inline constexpr std::size_t members_max = 16;

/// Returns the number of members of an aggregate whose members can be initialised from empty
/// braces. Returns 0 if it has no members, a base class, more than members_max members, or a member
/// that cannot be initialised from empty braces.
template <class T>
consteval std::size_t count_members() {
  if constexpr (
      !requires { T{}; } || requires { T{any_base_of<T>{}}; }) {
    return 0;
  } else if constexpr (requires {
                         T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    return 0;
  } else if constexpr (requires {
                         T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_member{}};
    } ? 0 : 16;
  } else if constexpr (requires {
                         T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       }) {
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_member{}};
    } ? 0 : 15;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_member{}};
    } ? 0 : 14;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_member{}}; } ? 0
                                                                                             : 13;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_member{}}; } ? 0 : 12;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_member{}}; } ? 0 : 11;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_member{}}; } ? 0 : 10;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, any_member{}}; } ? 0 : 9;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, any_member{}}; } ? 0 : 8;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, any_member{}}; } ? 0 : 7;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, {}, {}, any_member{}}; } ? 0 : 6;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, {}, any_member{}}; } ? 0 : 5;
  } else if constexpr (requires { T{{}, {}, {}, {}}; }) {
    return requires { T{{}, {}, {}, {}, any_member{}}; } ? 0 : 4;
  } else if constexpr (requires { T{{}, {}, {}}; }) {
    return requires { T{{}, {}, {}, any_member{}}; } ? 0 : 3;
  } else if constexpr (requires { T{{}, {}}; }) {
    return requires { T{{}, {}, any_member{}}; } ? 0 : 2;
  } else if constexpr (requires { T{{}}; }) {
    return requires { T{{}, any_member{}}; } ? 0 : 1;
  } else {
    return 0;
  }
}

#if defined __GNUC__
#pragma GCC diagnostic pop
#endif

/// Calls visit(member...) with all members, in their order.
template <class T, class Visit>
constexpr auto visit_members(const T& of, Visit&& visit) noexcept {
  constexpr std::size_t count = count_members<T>();
  static_assert(count != 0);
  if constexpr (count == 1) {
    const auto& [a] = of;
    return visit(a);
  } else if constexpr (count == 2) {
    const auto& [a, b] = of;
    return visit(a, b);
  } else if constexpr (count == 3) {
    const auto& [a, b, c] = of;
    return visit(a, b, c);
  } else if constexpr (count == 4) {
    const auto& [a, b, c, d] = of;
    return visit(a, b, c, d);
  } else if constexpr (count == 5) {
    const auto& [a, b, c, d, e] = of;
    return visit(a, b, c, d, e);
  } else if constexpr (count == 6) {
    const auto& [a, b, c, d, e, f] = of;
    return visit(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    const auto& [a, b, c, d, e, f, g] = of;
    return visit(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    const auto& [a, b, c, d, e, f, g, h] = of;
    return visit(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    const auto& [a, b, c, d, e, f, g, h, i] = of;
    return visit(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    const auto& [a, b, c, d, e, f, g, h, i, j] = of;
    return visit(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (count == 12) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (count == 13) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (count == 14) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (count == 15) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else if constexpr (count == 16) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
}

}  // namespace troupe::detail
