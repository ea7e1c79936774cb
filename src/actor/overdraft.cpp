// SPDX-License-Identifier: Apache-2.0
#include "overdraft.hpp"
#include "overload.hpp"

#include <new>
#include <utility>

#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/memory/pool.hpp>

#include "runtime.hpp"

namespace troupe::detail {

namespace {

// The message is handled alone. Its charge is given back after its handler, unless the handler has
// stashed the message.
void run_uncounted(void* actor, envelope& e) {
  auto& outer = static_cast<uncounted_message&>(e);
  envelope& message = *outer.inner;
  const dispatch& how = *message.how;
  struct handled {
    control_block& me;
    uncounted_message& one;
    const dispatch& how;
    ~handled() {
      if (std::exchange(this_turn().uncounted, nullptr) == &one) me.uncounted_is_handled(one, how);
    }
  } guard{*this_turn().running, outer, how};
  this_turn().uncounted = &outer;
  guard.me.now_handling(how);
  const unwrapped_scope scope;
  how.run(actor, message);
}

// A message that is in a mailbox is unwrapped first: see take_out_uncounted().
void discard_uncounted(envelope& e) noexcept {
  auto& outer = static_cast<uncounted_message&>(e);
  envelope& message = *outer.inner;
  free_envelope(outer);
  message.how->discard(message);
}

constexpr dispatch uncounted_dispatch{.run = run_uncounted,
                                      .discard = discard_uncounted,
                                      .message = "a message beyond what its mailbox can count",
                                      .internal = true};
constexpr dispatch high_uncounted_dispatch{
    .run = run_uncounted,
    .discard = discard_uncounted,
    .message = "a high message beyond what its mailbox can count",
    .internal = true,
    .high = true};

}  // namespace

uncounted_message& make_uncounted(envelope& message, std::size_t bytes) {
  auto* const outer = ::new (pool_allocate(sizeof(uncounted_message), alignof(uncounted_message)))
      uncounted_message;
  outer->how = message.how->high ? &high_uncounted_dispatch : &uncounted_dispatch;
  outer->inner = &message;
  outer->bytes = bytes;
  return *outer;
}

bool is_uncounted(const envelope& message) noexcept {
  return message.how == &uncounted_dispatch || message.how == &high_uncounted_dispatch;
}

envelope& take_out_uncounted(control_block& of, envelope& message) noexcept {
  auto& outer = static_cast<uncounted_message&>(message);
  envelope& inner = *outer.inner;
  runtime& home = of.home();
  home.overdrafts().release(outer.bytes);
  free_envelope(outer);
  home.pauses().end_uncounted(of, false);
  return inner;
}

// `how`: that of the inner message, which is gone.
void control_block::uncounted_is_handled(uncounted_message& one, const dispatch& how) noexcept {
  overload(*this).no_longer_waits(how, one.bytes);
  count_gone(*home_, 0, one.bytes);
  (void)take_out_uncounted(*this, one);
}

}  // namespace troupe::detail
