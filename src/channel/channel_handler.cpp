// SPDX-License-Identifier: Apache-2.0
// A handler that waits for channels: how it is notified, and how it leaves.
//
// A thread that completes an operation for the handler does so under the lock of that channel,
// after it has claimed the handler with decide(), and notifies it when the lock is released. The
// frame may be destroyed at any time in between. So the notification goes to a block of its own,
// which is also the message to the actor. The cases are in the frame:
//
//   destroyed before it was claimed   it claims itself, so it is never notified; it leaves the
//                                     lines, taking each lock once, and then no thread refers
//                                     to it
//   claimed by another thread         it leaves the lines: taking the lock of the completed channel
//                                     orders it after the operation, so a value that was given is
//                                     there, and is taken or put back. The block is on its way, and
//                                     finds no handler
//
// If its time-out expires, the same happens in a turn of the actor, and the handler is resumed.
#include <troupe/detail/channel/channel_handler.hpp>

#include <utility>

#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/message/envelope.hpp>

#include "actor/side_block.hpp"
#include "actor/wait_table.hpp"

namespace troupe::detail {

/// Stands in the lines for a handler. Freed by its actor's turn, or, if its message is no longer
/// accepted, by the notifying thread.
class told_handler final : public envelope, public channel_waiter {
 public:
  told_handler(control_block& me, handler_in_line& who) noexcept;

  void tell() noexcept override {
    control_block& to = actor_;
    if (!to.try_deliver(*this)) free_envelope(*this);
    to.let_go();
  }

  /// Accessed only by the turn. Null: the handler has been destroyed, or has been notified.
  handler_in_line* awaited;

 private:
  control_block& actor_;  // held until it is notified
};

namespace {

void run_told(void*, envelope& e) {
  auto& one = static_cast<told_handler&>(e);
  handler_frame* const handler = one.awaited != nullptr ? &one.awaited->told(one.done()) : nullptr;
  free_envelope(one);
  if (handler != nullptr) resume_handler(*handler);
}

void discard_told(envelope& e) noexcept {
  auto& one = static_cast<told_handler&>(e);
  TROUPE_ASSERT(one.awaited == nullptr, "a handler outlives its actor");
  free_envelope(one);
}

constexpr dispatch told_dispatch{.run = run_told,
                                 .discard = discard_told,
                                 .message = "what a channel has done",
                                 .internal = true,
                                 .at_once = true};

}  // namespace

told_handler::told_handler(control_block& me, handler_in_line& who) noexcept
    : envelope{nullptr, &told_dispatch}, awaited(&who), actor_(me) {}

handler_in_line::~handler_in_line() {
  if (told_ != nullptr) leave();
  channel_case* const given = became_.second;
  if (given == nullptr || given->sends || given->at_end) return;
  given->of->give_back(*given);
}

bool handler_in_line::is_decided() {
  became_ = channel_core::begin(cases_, locks_, nullptr);
  if (became_.first != progress::must_wait) return true;
  return until_ != time_point::max() && until_ <= clock::now();
}

bool handler_in_line::wait(handler_frame& who) {
  me_ = this_turn().running;
  for (std::size_t i = 0; i < cases_.size(); ++i) keeps_[i] = cases_[i]->of->shared_from_this();
  handler = &who;
  if (until_ != time_point::max()) {
    at_ = begin_waiting(*me_, *this, until_);
    now = state::waiting;
  }
  try {
    void* const block = pool_allocate(sizeof(told_handler), alignof(told_handler));
    told_ = ::new (block) told_handler(*me_, *this);
  } catch (...) {
    end_time();
    throw;
  }
  me_->hold();
  became_ = channel_core::begin(cases_, locks_, told_);
  if (became_.first == progress::must_wait) return true;
  end_time();
  free_envelope(*std::exchange(told_, nullptr));
  me_->let_go();
  return false;
}

handler_frame& handler_in_line::told(channel_case* done) noexcept {
  end_time();
  told_ = nullptr;
  became_ = {done != nullptr ? progress::done : progress::closed, done};
  // The thread that completed the only case has taken it out of its line.
  if (cases_.size() > 1) channel_core::leave(cases_);
  return *handler;
}

handler_in_line::outcome handler_in_line::take() noexcept {
  if (told_ != nullptr) leave();
  return {became_.first, std::exchange(became_.second, nullptr)};
}

void handler_in_line::leave() noexcept {
  end_time();
  told_handler& told = *std::exchange(told_, nullptr);
  const bool is_mine = told.decide();
  channel_core::leave(cases_);
  if (is_mine) {
    free_envelope(told);
    me_->let_go();
    return;
  }
  channel_case* const done = told.done();
  became_ = {done != nullptr ? progress::done : progress::closed, done};
  told.awaited = nullptr;
}

void handler_in_line::end_time() noexcept {
  if (now == state::waiting && at_.turn != 0) (void)me_->side_if_any()->waits->take(at_);
  now = state::over;
}

}  // namespace troupe::detail
