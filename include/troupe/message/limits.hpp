// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace troupe {

/// Allows at most `Most` messages of type M at once in one actor's mailbox; see message_limits.
template <class M, std::uint16_t Most>
struct at_most {
  static_assert(Most > 0, "at_most<M, 0> would refuse every M");
  using type = M;
  static constexpr std::uint16_t most = Most;
};

/// Limits of an actor class for single message types, in addition to those of its whole mailbox:
///
///   class gauge : public troupe::actor {
///    public:
///     using message_limits = troupe::message_limits<troupe::at_most<reading, 100>>;
///     void on(reading);
///
/// The policy chosen at spawn decides about a message beyond the limit: it is refused with
/// backpressure, and dropped with drop_oldest.
///
/// Cost: an atomic counter for each limited type, in sending and in handling it.
template <class... Limits>
struct message_limits {
  static constexpr std::size_t size = sizeof...(Limits);

  template <class M>
  [[nodiscard]] static constexpr std::uint16_t most() noexcept {
    std::uint16_t found = 0;
    (void)((std::same_as<typename Limits::type, M> && (found = Limits::most, true)) || ...);
    return found;
  }
  template <class M>
  [[nodiscard]] static constexpr std::uint16_t index() noexcept {
    std::uint16_t at = 0;
    (void)((std::same_as<typename Limits::type, M> || (++at, false)) || ...);
    return at < size ? at : std::uint16_t{0};
  }
};

namespace detail {

template <class A>
concept declares_limits = requires { typename A::message_limits; };

template <class A>
consteval std::uint16_t count_limits() {
  if constexpr (declares_limits<A>) {
    return static_cast<std::uint16_t>(A::message_limits::size);
  } else {
    return 0;
  }
}

}  // namespace detail
}  // namespace troupe
