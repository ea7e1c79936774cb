// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/actor/request.hpp>
#include <troupe/actor/turn_context.hpp>
#include <troupe/message/address.hpp>

namespace troupe {

namespace detail {
struct reply_access;
}  // namespace detail

/// A reply that a handler sends later. A handler that cannot reply yet takes it as its second
/// parameter, `void on(Message, troupe::reply<R>)`. The actor stores it and fulfils it later, or
/// passes it on with another message: as a member of that message, or by ref::pass_on(), where the
/// handler of the other message replies.
///
/// If the message was sent with send(), no reply is expected: the reply is empty, and may be used
/// all the same.
///
/// Threads:   a value that one thread uses at a time; any thread may do so.
/// Invariant: the requester gets exactly one reply or error. A reply that is destroyed unfulfilled
///            reports the cause: ask_error::failed if an exception leaves the handler; failed or
///            stopped if the actor that stores it terminates; otherwise unanswered.
/// Cost:      8 bytes. It owns the block of the request, in which the reply is sent back.
template <class R>
class reply {
 public:
  reply() = default;
  reply(reply&& other) noexcept : asked_(std::exchange(other.asked_, nullptr)) {}
  reply& operator=(reply other) noexcept {
    std::swap(asked_, other.asked_);
    return *this;
  }
  ~reply() {
    if (asked_ != nullptr) let_go(detail::why_let_go());
  }

  /// Returns false if there was no request, or it has been answered already.
  [[nodiscard]] explicit operator bool() const noexcept { return asked_ != nullptr; }

  /// Returns the requester, if it was an actor.
  [[nodiscard]] address asker() const noexcept {
    return asked_ != nullptr ? asked_->from.who() : address{};
  }

  /// Sends the reply. Returns false if this object is empty. True does not guarantee that the
  /// requester still waits: a reply that arrives too late is counted and destroyed.
  /// Errors: what moving the reply throws; this object then still holds the request.
  bool set_value(R answer) {
    if (asked_ == nullptr) return false;
    detail::answer_request(*asked_, std::move(answer));
    asked_ = nullptr;
    return true;
  }

  /// Completes the request with an error, ask_error::failed. Returns false if this object is empty.
  bool fail() noexcept {
    if (asked_ == nullptr) return false;
    let_go(ask_error::failed);
    return true;
  }

 private:
  template <class A, class M>
  friend void detail::run_request(void* actor, detail::envelope& e);
  friend struct detail::reply_access;
  explicit reply(detail::request& asked) noexcept : asked_(&asked) {}

  void let_go(ask_error as) noexcept {
    const detail::no_answer_scope scope(as);
    detail::request& asked = *std::exchange(asked_, nullptr);
    asked.how->discard(asked);
  }

  detail::request* asked_ = nullptr;
};

namespace detail {

struct reply_access {
  template <class R>
  static reply<R> owed(request& asked) noexcept {
    return reply<R>(asked);
  }

  /// Makes the requester wait for the reply to `onwards` from here on.
  template <class R>
  static void hand_over(reply<R>& owed, request& onwards) noexcept {
    request* const before = std::exchange(owed.asked_, nullptr);
    if (before == nullptr) return;
    onwards.from = std::exchange(before->from, asker{{nullptr}});
    before->how->discard(*before);  // it has no requester any more
  }
};

}  // namespace detail
}  // namespace troupe
