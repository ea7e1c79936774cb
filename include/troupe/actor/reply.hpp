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

/// An answer that is still owed: what a handler takes as its second parameter that cannot answer yet,
/// `void on(Message, troupe::reply<R>)`. It is kept, and fulfilled later, or passed on with another
/// message: as a part of it, or by ref::pass_on(), where the other one's handler answers.
///
/// If the message was only sent, nobody waits for the reply: it is empty, and may be used all the same.
///
/// Threads:   a value that one thread uses at a time; that may be any.
/// Invariant: who asked gets one answer. What is let go of unfulfilled says why: ask_error::failed by an exception that
///            leaves the handler, failed or stopped by the end of the actor that keeps it; else unanswered.
/// Cost:      8 bytes. It owns the block that the question came in, and the answer goes back in it.
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

  /// False: nobody has asked, or he has been answered.
  [[nodiscard]] explicit operator bool() const noexcept { return asked_ != nullptr; }

  /// Who asked, if it was an actor.
  [[nodiscard]] address asker() const noexcept {
    return asked_ != nullptr ? asked_->from.who() : address{};
  }

  /// Answers. False if it is empty. True is no promise that he still waits: an answer that comes too late is
  /// counted and destroyed.
  /// Errors: what moving the answer throws; the reply is then still owed.
  bool fulfil(R answer) {
    if (asked_ == nullptr) return false;
    detail::answer_request(*asked_, std::move(answer));
    asked_ = nullptr;
    return true;
  }

  /// Answers that there will be none: ask_error::failed. False if it is empty.
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

  /// From here on who asked waits for the answer to `onwards`.
  template <class R>
  static void hand_over(reply<R>& owed, request& onwards) noexcept {
    request* const before = std::exchange(owed.asked_, nullptr);
    if (before == nullptr) return;
    onwards.from = std::exchange(before->from, asker{{nullptr}});
    before->how->discard(*before);  // there is nobody whom it could answer
  }
};

}  // namespace detail
}  // namespace troupe
