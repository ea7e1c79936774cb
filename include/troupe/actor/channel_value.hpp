// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace troupe {

/// What became of a value that was sent. Unless it was accepted it is still the caller's.
enum class channel_delivery : std::uint8_t {
  accepted,   // in the channel, or with a receiver
  refused,    // the channel is full
  dropped,    // the same, and it was made with drop_newest
  timed_out,  // it was full until the deadline
  closed,     // nobody will receive it
};

[[nodiscard]] std::string_view to_string(channel_delivery what) noexcept;

/// A value out of a channel; or none, and why.
template <class T>
class received : private std::optional<T> {
 public:
  explicit received(bool closed) noexcept : closed_(closed) {}
  explicit received(T&& taken) noexcept : std::optional<T>(std::move(taken)) {}

  using std::optional<T>::operator bool;
  using std::optional<T>::operator*;
  using std::optional<T>::operator->;
  using std::optional<T>::has_value;
  using std::optional<T>::value;

  /// There is none, and there will be none. Else, if there is none, there may be one later.
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }

 private:
  bool closed_ = false;
};

/// What became of a value that a handler has sent; and the value, if it was not accepted.
template <class T>
class sent {
 public:
  sent(channel_delivery what) noexcept : what_(what) {}
  sent(channel_delivery what, T&& kept) noexcept : what_(what), kept_(std::move(kept)) {}

  /// It was accepted.
  [[nodiscard]] explicit operator bool() const noexcept {
    return what_ == channel_delivery::accepted;
  }
  [[nodiscard]] channel_delivery what() const noexcept { return what_; }
  friend bool operator==(const sent& one, channel_delivery what) noexcept {
    return one.what_ == what;
  }

  /// The caller's again. Errors: std::bad_optional_access if it was accepted.
  [[nodiscard]] T& value() { return kept_.value(); }

 private:
  channel_delivery what_;
  std::optional<T> kept_;
};

/// Never defined. The compiler names it, with the type, for a channel of values that may throw when
/// they are moved: they are handed over under a lock, between two threads of which none could be told.
template <class T>
struct channel_values_must_move_without_throwing;

namespace detail {

/// Room for one value, which is built and ended by hand.
template <class T>
class value_room {
 public:
  [[nodiscard]] void* place() noexcept { return bytes_.data(); }
  [[nodiscard]] T& value() noexcept { return *std::launder(reinterpret_cast<T*>(bytes_.data())); }
  /// Ends the value there as well.
  [[nodiscard]] T take() noexcept {
    T taken(std::move(value()));
    value().~T();
    return taken;
  }

 private:
  alignas(T) std::array<std::byte, sizeof(T)> bytes_;
};

}  // namespace detail
}  // namespace troupe
