// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <typeinfo>

namespace troupe::detail {

/// Identifies a type, independent of the shared library in which it was compiled.
///
/// The address of a static record does not identify a type: a library that is compiled with
/// -fvisibility=hidden, or loaded with RTLD_LOCAL, has its own copy of a template's statics, and a
/// linker may give one address to two functions with the same code (--icf=all). std::type_info
/// compares names in that case, but addresses for types with internal linkage.
///
/// Cost: a comparison of two addresses if they are the same; otherwise that of two strings. Do not
///       use it for each message.
class type_identity {
 public:
  constexpr type_identity() = default;  // of no type

  template <class T>
  [[nodiscard]] static constexpr type_identity of() noexcept {
#ifdef __cpp_rtti
    return type_identity(&typeid(T));
#else
    return type_identity(&tag<T>);
#endif
  }

  friend bool operator==(const type_identity& a, const type_identity& b) noexcept {
    if (a.which_ == b.which_) return true;
#ifdef __cpp_rtti
    // For types with internal linkage, GCC compares the addresses, and Clang the names.
    return a.which_ != nullptr && b.which_ != nullptr && *a.which_ == *b.which_ &&
           std::strstr(a.which_->name(), "_GLOBAL__N_") == nullptr;
#else
    return false;
#endif
  }

  [[nodiscard]] std::size_t hash() const noexcept {
#ifdef __cpp_rtti
    return which_ != nullptr ? which_->hash_code() : 0;
#else
    return reinterpret_cast<std::size_t>(which_);
#endif
  }

 private:
#ifdef __cpp_rtti
  using record = std::type_info;
#else
  using record = char;
  template <class T>
  static constexpr char tag = 0;
#endif
  constexpr explicit type_identity(const record* which) noexcept : which_(which) {}

  const record* which_ = nullptr;
};

}  // namespace troupe::detail
