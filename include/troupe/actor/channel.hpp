// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <troupe/actor/channel_core.hpp>
#include <troupe/actor/channel_handler.hpp>
#include <troupe/actor/channel_value.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/sending.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/base/clock.hpp>

namespace troupe {

namespace detail {

channel_delivery send_one(channel_case& value, time_point deadline);
channel_core::progress receive_one(channel_case& value, time_point deadline);

struct channel_access {
  template <class Handle>
  [[nodiscard]] static channel_core& core(const Handle& of) noexcept {
    return of.core();
  }
};

/// Counts for the channel how many handles can still send, and receive.
template <bool Sends, bool Receives>
class channel_end {
 public:
  explicit channel_end(std::shared_ptr<channel_core> core) : core_(std::move(core)) {
    if (core_ != nullptr) core_->open_end(Sends, Receives);
  }
  channel_end(const channel_end& other) : channel_end(other.core_) {}
  channel_end(channel_end&& other) noexcept = default;
  channel_end& operator=(channel_end other) noexcept {
    core_.swap(other.core_);
    return *this;
  }
  ~channel_end() {
    if (core_ != nullptr) core_->end_ends(Sends, Receives);
  }

  [[nodiscard]] std::shared_ptr<channel_core> shared() const noexcept { return core_; }
  [[nodiscard]] channel_core& core() const noexcept {
    TROUPE_EXPECTS(core_ != nullptr, "a moved-from troupe::channel was used");
    return *core_;
  }

 private:
  std::shared_ptr<channel_core> core_;
};

/// Operations of both a channel and its ends.
template <class Self>
class channel_handle {
 public:
  /// Closes the channel: no further values can be sent, and waiting senders are told so. Values in
  /// the channel can still be received; waiting receivers are told when none are left. Returns
  /// false if it was closed already.
  bool close() const { return core().close(); }
  [[nodiscard]] bool is_closed() const { return core().is_closed(); }

  /// Returns how many values are in the channel at the moment.
  [[nodiscard]] std::size_t size() const { return core().size(); }
  /// Returns how many senders and receivers are waiting at the moment.
  [[nodiscard]] std::size_t waiting() const { return core().waiting(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return core().capacity(); }
  /// Counts the effects of a full channel: values refused and dropped, and how often a sender
  /// waited.
  [[nodiscard]] overload_counts counts() const { return core().counts(); }

 protected:
  [[nodiscard]] channel_core& core() const noexcept {
    return channel_access::core(static_cast<const Self&>(*this));
  }
};

template <class T, class Self>
class channel_sends {
 public:
  /// Sends a value. With backpressure it waits while the channel is full; waiting senders are
  /// served first in, first out. With another policy it behaves as try_send(). A value given as an
  /// rvalue is moved from only if it is accepted.
  ///
  /// Threads: any, but with backpressure not in a handler of an actor on the pool or a pump.
  /// Errors:  std::logic_error in such a handler. Throws what copying the value throws, with
  ///          nothing sent.
  channel_delivery send(T&& value) const { return send_by(value, time_point::max()); }
  channel_delivery send(const T& value) const
    requires std::copy_constructible<T>
  {
    return send(T(value));
  }

  /// As send(), but gives up at the deadline.
  channel_delivery send_until(T&& value, time_point deadline) const {
    return send_by(value, deadline);
  }
  channel_delivery send_until(const T& value, time_point deadline) const
    requires std::copy_constructible<T>
  {
    return send_until(T(value), deadline);
  }

  /// Sends without waiting: a full channel refuses or drops, as its policy says. May be called from
  /// any thread.
  channel_delivery try_send(T&& value) const { return send_by(value, at_once); }
  channel_delivery try_send(const T& value) const
    requires std::copy_constructible<T>
  {
    return try_send(T(value));
  }

  /// In a handler that is a coroutine, `co_await out.async_send(value)` sends a value as
  /// send() does in a thread; the actor handles other messages while the handler is suspended. It
  /// takes the value; if the value is not accepted, it is in the result. With a time, it gives up
  /// after that time: timed_out.
  ///
  /// Send an existing aggregate that owns something with async_send<T>(std::move(value)), or
  /// as a copy: GCC 12 destroys such an object twice if it is built within a co_await.
  ///
  /// Threads: the turns of an actor; elsewhere it does not compile.
  /// Order:   first in, first out, together with threads that wait.
  /// Errors:  if the actor terminates while the handler waits, the value is destroyed with the
  ///          handler. Throws what copying the value throws, and std::bad_alloc, with nothing sent.
  /// Cost:    that of send() if there is room. Otherwise a block from the pool, the mutex again,
  ///          and a message from the actor to itself.
  template <class Named = void, std::convertible_to<T> V = T>
  [[nodiscard]] sending_value<T> async_send(V&& value) const {
    return send_in_turn<Named>(std::forward<V>(value), time_point::max());
  }
  template <class Named = void, std::convertible_to<T> V = T>
  [[nodiscard]] sending_value<T> async_send(duration time, V&& value) const {
    return send_in_turn<Named>(std::forward<V>(value), later(clock::now(), time));
  }

 private:
  template <class Named, class V>
  [[nodiscard]] sending_value<T> send_in_turn(V&& value, time_point until) const {
    channel_core& core = channel_access::core(static_cast<const Self&>(*this));
    if constexpr (!safe_to_await<Named, V>) {
      static_cast<void>(sizeof(build_the_message_in_place<T>));
    }
    return {core, std::forward<V>(value), until};
  }

  channel_delivery send_by(T& value, time_point deadline) const {
    channel_core& core = channel_access::core(static_cast<const Self&>(*this));
    value_room<T> oldest;
    channel_case one{.of = &core, .sends = true, .value = &value, .dropped = oldest.place()};
    const channel_delivery result = send_one(one, deadline);
    if (one.has_dropped) oldest.value().~T();
    return result;
  }
};

template <class T, class Self>
class channel_receives {
 public:
  /// Waits for a value; waiting receivers are served first in, first out. The result is empty if
  /// the channel is closed and empty.
  ///
  /// Threads: any, but not in a handler of an actor on the pool or a pump.
  /// Errors:  std::logic_error in such a handler.
  [[nodiscard]] received<T> receive() const { return receive_by(time_point::max()); }
  /// As receive(), but gives up at the deadline.
  [[nodiscard]] received<T> receive_until(time_point deadline) const {
    return receive_by(deadline);
  }
  /// Receives without waiting. May be called from any thread.
  [[nodiscard]] received<T> try_receive() const { return receive_by(at_once); }

  /// In a handler that is a coroutine, `co_await in.next()` receives a value as receive() does in a
  /// thread; the actor handles other messages while the handler is suspended. With a time, it gives
  /// up after that time.
  ///
  /// Threads: the turns of an actor; elsewhere it does not compile.
  /// Order:   first in, first out, together with threads that wait.
  /// Errors:  if the actor terminates while the handler waits, a value that it has already been
  ///          given is put back, as the oldest value. Throws std::bad_alloc, with nothing received.
  /// Cost:    that of receive() if there is a value. Otherwise a block from the pool, the mutex
  ///          again, and a message from the actor to itself.
  [[nodiscard]] next_value<T> next() const { return next_by(time_point::max()); }
  [[nodiscard]] next_value<T> next(duration time) const {
    return next_by(later(clock::now(), time));
  }

 private:
  [[nodiscard]] next_value<T> next_by(time_point until) const {
    return {channel_access::core(static_cast<const Self&>(*this)), until};
  }

  received<T> receive_by(time_point deadline) const {
    channel_core& core = channel_access::core(static_cast<const Self&>(*this));
    value_room<T> room;
    channel_case one{.of = &core, .sends = false, .value = room.place()};
    const channel_core::progress result = receive_one(one, deadline);
    if (result != channel_core::progress::done) {
      return received<T>(result == channel_core::progress::closed);
    }
    return received<T>(room.take());
  }
};

template <class T>
void check_channel_value() {
  if constexpr (!std::is_nothrow_move_constructible_v<T> || !std::is_nothrow_destructible_v<T>) {
    static_cast<void>(sizeof(channel_values_must_move_without_throwing<T>));
  }
}

}  // namespace detail

/// A bounded queue between threads, and handlers that are coroutines. It has any number of senders
/// and receivers; each value is received once, and values are received in the order of sending. A
/// channel object is a handle: copies refer to the same channel.
///
/// With a capacity of 0, a sender waits until a receiver takes its value. The overload policy
/// decides about a value that exceeds the capacity, as for a mailbox: backpressure (senders wait),
/// refuse, drop_newest, drop_oldest.
///
/// The channel is closed when no handle that can send is left. It is also closed when no handle
/// that can receive is left; the values in it are destroyed then. A channel object is both ends;
/// hand out `sender` and `receiver` to separate them.
///
/// Threads:   the channel from any; one handle from one thread at a time, as with std::shared_ptr.
/// Invariant: waiters are served first in, first out. No value is lost silently: the counts say how
///            many were refused and dropped. A value given to a handler whose actor terminated
///            before the handler continued is put back as the oldest, beyond the capacity if that
///            is used up.
/// Cost:      a mutex for each operation; a system call to sleep, and one to wake a sleeping
///            waiter. All memory is allocated at construction.
/// Errors:    std::invalid_argument for a policy that channels do not have, or for drop_oldest with
///            capacity 0; std::bad_alloc. Moving and destroying a T must not throw. Both happen
///            under the channel's lock, so they must not use the channel.
template <class T>
class channel : public detail::channel_handle<channel<T>>,
                public detail::channel_sends<T, channel<T>>,
                public detail::channel_receives<T, channel<T>> {
 public:
  using value_type = T;
  class sender;
  class receiver;

  explicit channel(std::size_t capacity, const overflow& on_full = overflow::backpressure)
      : end_(std::make_shared<detail::channel_core>(detail::operations_of<T>, capacity,
                                                    on_full.what())) {
    detail::check_channel_value<T>();
  }

  /// Returns two handles that keep the channel open: auto [to, from] = channel<int>(16).ends();
  [[nodiscard]] std::pair<sender, receiver> ends() const {
    return {sender(*this), receiver(*this)};
  }

 private:
  friend struct detail::channel_access;
  [[nodiscard]] detail::channel_core& core() const noexcept { return end_.core(); }

  detail::channel_end<true, true> end_;
};

/// The sending end of a channel.
template <class T>
class channel<T>::sender : public detail::channel_handle<sender>,
                           public detail::channel_sends<T, sender> {
 public:
  using value_type = T;
  sender(const channel& of) : end_(of.end_.shared()) {}

 private:
  friend struct detail::channel_access;
  [[nodiscard]] detail::channel_core& core() const noexcept { return end_.core(); }

  detail::channel_end<true, false> end_;
};

/// The receiving end of a channel.
template <class T>
class channel<T>::receiver : public detail::channel_handle<receiver>,
                             public detail::channel_receives<T, receiver> {
 public:
  using value_type = T;
  receiver(const channel& of) : end_(of.end_.shared()) {}

 private:
  friend struct detail::channel_access;
  [[nodiscard]] detail::channel_core& core() const noexcept { return end_.core(); }

  detail::channel_end<false, true> end_;
};

}  // namespace troupe
