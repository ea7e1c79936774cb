// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <troupe/actor/request.hpp>
#include <troupe/detail/actor/actor_type.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/message/type_identity.hpp>
#include <troupe/message/handler.hpp>
#include <troupe/message/type_name.hpp>

namespace troupe::detail {

/// Identifies a message type, and names it.
struct message_identity {
  std::string_view name;
  type_identity type;
};
template <class M>
inline constexpr message_identity identity_of{type_name<M>(), type_identity::of<M>()};

struct known_message {
  const message_identity* which;
  const dispatch* how;
};

/// The information about an actor's class that is stored with its name. One static record per
/// class.
struct named_type {
  const actor_type* actor;
  const known_message* messages;  // null: the class does not list its messages
  std::size_t count;

  [[nodiscard]] const dispatch* how_to(const message_identity& which) const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (messages[i].which->type == which.type) return messages[i].how;
    }
    return nullptr;
  }
};

/// The messages that the class lists, and those of them that it answers as requests R(M).
template <class A, class Messages>
struct known_messages;
template <class A, class... Ms>
struct known_messages<A, messages<Ms...>> {
  static constexpr auto make() noexcept {
    std::array<known_message, sizeof...(Ms) + (std::size_t{answers<A, Ms>} + ... + 0)> those{
        known_message{&identity_of<Ms>, &dispatch_of<A, Ms>}...};
    std::size_t next = sizeof...(Ms);
    const auto add_request = [&]<class M>(std::type_identity<M>) {
      if constexpr (answers<A, M>) {
        those[next++] = {&identity_of<reply_of<A, M>(M)>, &request_dispatch_of<A, M>};
      }
    };
    (add_request(std::type_identity<Ms>{}), ...);
    return those;
  }
  static constexpr auto all = make();
};

template <class A>
constexpr named_type make_named_type() noexcept {
  if constexpr (declares_messages<A>) {
    using table = known_messages<A, typename A::messages>;
    return {&actor_type_of<A>, table::all.data(), table::all.size()};
  } else {
    return {&actor_type_of<A>, nullptr, 0};
  }
}
template <class A>
inline constexpr named_type named_type_of = make_named_type<A>();

}  // namespace troupe::detail
