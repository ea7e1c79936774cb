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

/// The result of sending a value. Unless the value was accepted, it still belongs to the caller.
enum class channel_delivery : std::uint8_t {
  accepted,   // in the channel, or taken by a receiver
  refused,    // the channel is full
  dropped,    // the channel is full and was made with drop_newest
  timed_out,  // the channel was full until the deadline
  closed,     // the value would never be received
};

[[nodiscard]] std::string_view to_string(channel_delivery what) noexcept;

/// A value received from a channel; or empty, with the reason.
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

  /// Returns true if there is no value, and there will be none. If this is false and there is no
  /// value, one may come later.
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }

 private:
  bool closed_ = false;
};

/// The result of async_send() of a channel. It contains the value if that was not accepted.
template <class T>
class sent {
 public:
  sent(channel_delivery what) noexcept : what_(what) {}
  sent(channel_delivery what, T&& kept) noexcept : what_(what), kept_(std::move(kept)) {}

  /// Returns true if the value was accepted.
  [[nodiscard]] explicit operator bool() const noexcept {
    return what_ == channel_delivery::accepted;
  }
  [[nodiscard]] channel_delivery what() const noexcept { return what_; }
  friend bool operator==(const sent& one, channel_delivery what) noexcept {
    return one.what_ == what;
  }

  /// Returns the value that was not accepted. Errors: std::bad_optional_access if it was accepted.
  [[nodiscard]] T& value() { return kept_.value(); }

 private:
  channel_delivery what_;
  std::optional<T> kept_;
};

/// Compile error: moving a value of the channel may throw. Values are transferred between two
/// threads under a lock, where an exception could be reported to neither of them. This type is
/// never defined; the error names it.
template <class T>
struct channel_values_must_move_without_throwing;

namespace detail {

/// Storage for one value, which is constructed and destroyed explicitly.
template <class T>
class value_room {
 public:
  [[nodiscard]] void* place() noexcept { return bytes_.data(); }
  [[nodiscard]] T& value() noexcept { return *std::launder(reinterpret_cast<T*>(bytes_.data())); }
  /// Moves the value out, and destroys the one in the storage.
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
