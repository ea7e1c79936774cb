// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <troupe/actor/system.hpp>

namespace troupe::detail {

/// What a system owns for a higher layer: one object of each class, made when it is first asked for and
/// destroyed with the system, when all actors have ended and nothing runs any more.
class system_extension {
 public:
  system_extension() = default;
  system_extension(const system_extension&) = delete;
  system_extension& operator=(const system_extension&) = delete;
  virtual ~system_extension() = default;
};

using make_extension = std::unique_ptr<system_extension> (*)(troupe::system& of);

/// `make` is what it is known by.
[[nodiscard]] system_extension& extension_of(troupe::system& of, make_extension make);

template <class T>
std::unique_ptr<system_extension> make_extension_of(troupe::system& of) {
  return std::make_unique<T>(of);
}

/// Threads: any.
/// Cost:    a mutex of the system, and a look at each extension that it has: keep the reference.
/// Errors:  what the constructor throws, with nothing left behind.
template <class T>
[[nodiscard]] T& extension_of(troupe::system& of) {
  return static_cast<T&>(extension_of(of, make_extension_of<T>));
}

}  // namespace troupe::detail
