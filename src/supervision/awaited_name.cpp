// SPDX-License-Identifier: Apache-2.0
#include <troupe/supervision/awaited_name.hpp>

#include <string>
#include <utility>

#include <troupe/memory/pool.hpp>
#include <troupe/supervision/registry.hpp>

#include "actor/side_block.hpp"
#include "actor/wait_table.hpp"
#include "name_registry.hpp"

namespace troupe::detail {

/// The notification of a waiting handler. It is allocated when the wait begins, so that registering
/// the name allocates nothing.
struct name_told : envelope {
  name_told(const dispatch& how_to, std::string_view name, awaited_name& by)
      : envelope{nullptr, &how_to}, content{std::string(name), {}}, awaited(&by) {}

  name_registered content;
  awaited_name* awaited;  // accessed by the turn only; null if the handler no longer waits
};

namespace {

void run_name_told(void*, envelope& e) {
  auto& one = static_cast<name_told&>(e);
  handler_frame* const handler = one.awaited != nullptr ? &one.awaited->told() : nullptr;
  free_envelope(one);
  if (handler != nullptr) resume_handler(*handler);
}

void discard_name_told(envelope& e) noexcept { free_envelope(static_cast<name_told&>(e)); }

constexpr dispatch name_told_dispatch{.run = run_name_told,
                                      .discard = discard_name_told,
                                      .message = "a name that a handler waits for",
                                      .internal = true,
                                      .at_once = true};

name_told& make_message(std::string_view name, awaited_name& by) {
  void* const block = pool_allocate(sizeof(name_told), alignof(name_told));
  try {
    return *::new (block) name_told(name_told_dispatch, name, by);
  } catch (...) {
    pool_release(block, sizeof(name_told), alignof(name_told));
    throw;
  }
}

}  // namespace

void awaited_name::wait(handler_frame& who) {
  me_ = this_turn().running;
  name_told& message = make_message(name_, *this);
  registry_.notify_on_register(name_, *me_, {&message, &message.content}, this);
  message_ = &message;
  if (until_ != time_point::max()) {
    at_ = begin_waiting(*me_, *this, until_);
    now = state::waiting;
  }
  handler = &who;
}

handler_frame& awaited_name::told() noexcept {
  end_time();
  message_ = nullptr;
  is_told_ = true;
  return *handler;
}

// Ends the wait. Returns true if the handler was notified.
bool awaited_name::leave() noexcept {
  end_time();
  if (name_told* const message = std::exchange(message_, nullptr)) {
    // If the waiter is no longer in the table, its message is in the mailbox already.
    if (!registry_.cancel_notification(name_, me_->where(), this)) message->awaited = nullptr;
  }
  return is_told_;
}

void awaited_name::end_time() noexcept {
  if (now == state::waiting && at_.turn != 0) (void)me_->side_if_any()->waits->take(at_);
  now = state::over;
}

}  // namespace troupe::detail
