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
#include <troupe/actor/overload.hpp>
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

/// Counts for the channel who can still send, and receive.
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
    TROUPE_EXPECTS(core_ != nullptr, "a troupe::channel was used that has been moved from");
    return *core_;
  }

 private:
  std::shared_ptr<channel_core> core_;
};

/// What both a channel and its ends can do.
template <class Self>
class channel_handle {
 public:
  /// Nothing can be sent any more, and who waits to send is told so. What is in it can still be
  /// received; who waits to receive is told when there is nothing left. False if it was closed.
  bool close() const { return core().close(); }
  [[nodiscard]] bool is_closed() const { return core().is_closed(); }

  /// How many values are in it; just now.
  [[nodiscard]] std::size_t size() const { return core().size(); }
  /// How many wait for it, to send or to receive; just now.
  [[nodiscard]] std::size_t waiting() const { return core().waiting(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return core().capacity(); }
  /// What its being full has done: values refused and dropped, and how often a sender waited.
  [[nodiscard]] overload_counts counts() const { return core().counts(); }

 protected:
  [[nodiscard]] channel_core& core() const noexcept {
    return channel_access::core(static_cast<const Self&>(*this));
  }
};

template <class T, class Self>
class channel_sends {
 public:
  /// Waits while the channel is full, if it was made with pause_senders; first come, first served.
  /// Else as try_send(). A value given as an rvalue is moved from only if it is accepted.
  ///
  /// Threads: any, but with pause_senders none in a handler of an actor on the pool or a pump.
  /// Errors:  std::logic_error there. What copying the value throws, with nothing sent.
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

  /// Never waits: a full channel refuses, or drops what it was made to drop. For any thread.
  channel_delivery try_send(T&& value) const { return send_by(value, at_once); }
  channel_delivery try_send(const T& value) const
    requires std::copy_constructible<T>
  {
    return try_send(T(value));
  }

  /// In a handler that is a coroutine, `co_await out.send_when_ready(value)` sends it as send() does
  /// in a thread, and its actor handles other messages while it waits. It takes the value; what is
  /// not accepted is in what it returns. With a time, it gives up then: timed_out.
  ///
  /// An aggregate that owns something and is at hand is sent by send_when_ready<T>(std::move(value)),
  /// or as a copy: GCC 12 destroys one twice that is built within a co_await.
  ///
  /// Threads: the turns of an actor; elsewhere it does not compile.
  /// Order:   first come, first served, with those who wait in threads.
  /// Errors:  if the actor ends while the handler waits the value is destroyed with it. Throws what
  ///          copying the value throws, and std::bad_alloc, with nothing sent.
  /// Cost:    where there is room that of send(). Else a block from the pool, the mutex again, and a
  ///          message to oneself.
  template <class Named = void, std::convertible_to<T> V = T>
  [[nodiscard]] sending_value<T> send_when_ready(V&& value) const {
    return send_in_turn<Named>(std::forward<V>(value), time_point::max());
  }
  template <class Named = void, std::convertible_to<T> V = T>
  [[nodiscard]] sending_value<T> send_when_ready(duration time, V&& value) const {
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
  /// Waits for a value; first come, first served. None if the channel is closed and empty.
  ///
  /// Threads: any, but not in a handler of an actor on the pool or a pump.
  /// Errors:  std::logic_error there.
  [[nodiscard]] received<T> receive() const { return receive_by(time_point::max()); }
  /// As receive(), but gives up at the deadline.
  [[nodiscard]] received<T> receive_until(time_point deadline) const {
    return receive_by(deadline);
  }
  /// Never waits. For any thread.
  [[nodiscard]] received<T> try_receive() const { return receive_by(at_once); }

  /// In a handler that is a coroutine, `co_await in.next()` gives what receive() gives in a thread;
  /// its actor handles other messages while it waits. With a time, it gives up then.
  ///
  /// Threads: the turns of an actor; elsewhere it does not compile.
  /// Order:   first come, first served, with those who wait in threads.
  /// Errors:  if the actor ends while the handler waits, what it has been given already is put back,
  ///          as the oldest value. Throws std::bad_alloc, with nothing received.
  /// Cost:    where there is a value that of receive(). Else a block from the pool, the mutex again,
  ///          and a message to oneself.
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

/// A bounded queue between threads, and handlers that are coroutines: many may send and many receive,
/// each value is received once, in the order in which they were sent. A handle: copies are the same
/// channel.
///
/// With a capacity of 0 who sends waits until somebody receives. What happens to one value too many is
/// said as for a mailbox: pause_senders (senders wait), refuse, drop_newest, drop_oldest.
///
/// When nobody can send any more it is closed; also when nobody can receive, and what is in it is
/// destroyed then. A channel is both ends; hand out `sender` and `receiver` to tell them apart.
///
/// Threads:   the channel from any; one handle from one at a time, as with std::shared_ptr.
/// Invariant: who waits is served in the order of his coming. No value is lost: the counts say what
///            was refused and dropped. What a handler was given whose actor ended before it could look
///            is put back, as the oldest, beyond the capacity if that is used up.
/// Cost:      a mutex for each operation; a system call to sleep, and to wake who sleeps. All memory
///            is allocated at construction.
/// Errors:    std::invalid_argument for a policy that channels do not have, or drop_oldest with
///            capacity 0; std::bad_alloc. A T moves and ends without throwing, under the channel's lock:
///            it must not use the channel then.
template <class T>
class channel : public detail::channel_handle<channel<T>>,
                public detail::channel_sends<T, channel<T>>,
                public detail::channel_receives<T, channel<T>> {
 public:
  using value_type = T;
  class sender;
  class receiver;

  explicit channel(std::size_t capacity, const overload& when_full = overload::pause_senders)
      : end_(std::make_shared<detail::channel_core>(detail::operations_of<T>, capacity,
                                                    when_full.what())) {
    detail::check_channel_value<T>();
  }

  /// Two handles that keep it open: auto [to, from] = channel<int>(16).ends();
  [[nodiscard]] std::pair<sender, receiver> ends() const {
    return {sender(*this), receiver(*this)};
  }

 private:
  friend struct detail::channel_access;
  [[nodiscard]] detail::channel_core& core() const noexcept { return end_.core(); }

  detail::channel_end<true, true> end_;
};

/// The end of a channel that sends.
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

/// The end of a channel that receives.
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
