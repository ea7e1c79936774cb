// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <troupe/troupe.hpp>

namespace troupe::lua {

/// A request to an application, by another one or by a C++ actor: a method and one value, in CBOR
/// (RFC 8949).
struct call {
  std::string method;
  std::string value;

  [[nodiscard]] std::size_t owned_bytes() const noexcept {
    return method.capacity() + value.capacity();
  }
};

/// The reply to a call.
struct answer {
  bool ok = true;
  std::string value;  // in CBOR; if not ok, the reason as text

  [[nodiscard]] static answer error(std::string why) {
    return {.ok = false, .value = std::move(why)};
  }
};

/// Satisfied by an actor that handles calls: `lua::answer on(const lua::call&)`, or with a reply or
/// as a task.
template <class A>
concept callable = requires(const ref<A>& to, call c) {
  { to.template ask<call>(no_timeout, std::move(c)) } -> std::same_as<ask_future<answer>>;
};

/// A callable actor without its class.
struct call_target {
  std::function<ask_future<answer>(duration timeout, call what)> ask;
  std::function<delivery(call what)> send;

  template <callable A>
  [[nodiscard]] static call_target of(ref<A> to) {
    return {.ask = [to](duration timeout,
                        call what) { return to.template ask<call>(timeout, std::move(what)); },
            .send = [to](call what) { return to.send(std::move(what)); }};
  }
};

}  // namespace troupe::lua
