// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/actor/request.hpp>
#include <troupe/detail/actor/turn_context.hpp>
#include <troupe/message/address.hpp>

namespace troupe {

namespace detail {
struct reply_access;
}  // namespace detail

/// A reply that a handler sends later. A handler that cannot reply yet takes it as its second
/// parameter, `void on(Message, troupe::reply<R>)`. The actor stores the object and calls
/// set_value() later. Alternatively, it passes the object on: as a member of another message, or
/// with ref::pass_on(), so that the handler of the other message replies.
///
/// If the message was sent with send(), no reply is expected. The object is then empty; it may be
/// used, without effect.
///
/// Threads:   may be used on any thread, by one thread at a time.
/// Invariant: the requester gets exactly one reply or error. If the object is destroyed without a
///            reply, the requester gets ask_error::failed if an exception leaves the handler;
///            `failed` or `stopped` if the actor that stores the object terminates; otherwise
///            `unanswered`.
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

  /// Returns false if there was no request, or if it has already been completed.
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

  /// Completes the request with an error.
  template <class R>
  static void let_go(reply<R>& owed, ask_error as) noexcept {
    if (owed) owed.let_go(as);
  }

  /// Frees the request of a requester that does not wait any more.
  template <class R>
  static void abandon(reply<R>& owed) noexcept {
    if (!owed) return;
    if (owed.asked_->from.place != asker::in_a_slot) owed.asked_->from.line = nullptr;
    owed.let_go(ask_error::unanswered);
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
