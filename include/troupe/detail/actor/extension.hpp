// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <troupe/actor/system.hpp>

namespace troupe::detail {

/// An object that a system owns for a higher layer: one of each class, made at its first use and
/// destroyed with the system, when all actors have terminated and nothing runs any more.
class system_extension {
 public:
  system_extension() = default;
  system_extension(const system_extension&) = delete;
  system_extension& operator=(const system_extension&) = delete;
  virtual ~system_extension() = default;
};

using make_extension = std::unique_ptr<system_extension> (*)(troupe::system& of);

/// `make` identifies the extension.
[[nodiscard]] system_extension& extension_of(troupe::system& of, make_extension make);

template <class T>
std::unique_ptr<system_extension> make_extension_of(troupe::system& of) {
  return std::make_unique<T>(of);
}

/// Returns the extension of class T, and makes it at the first call.
///
/// Threads: any.
/// Cost:    a mutex of the system, and a look at each extension that it has: keep the reference.
/// Errors:  what the constructor throws, with nothing left behind.
template <class T>
[[nodiscard]] T& extension_of(troupe::system& of) {
  return static_cast<T&>(extension_of(of, make_extension_of<T>));
}

}  // namespace troupe::detail
