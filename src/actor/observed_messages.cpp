// SPDX-License-Identifier: Apache-2.0
#include "observed_messages.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include <troupe/actor/conductor.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/actor/observer.hpp>
#include <troupe/actor/trace.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/memory/pool.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/sync/per_process.hpp>
#include <troupe/sync/per_thread.hpp>

#include "runtime.hpp"

namespace troupe {

// Consecutive numbers, spread over the whole range (the steps of splitmix64), starting at the
// current clock time.
trace_id new_trace() noexcept {
  struct counter {
    atomic<std::uint64_t> next{static_cast<std::uint64_t>(clock::now().time_since_epoch().count())};
  };
  std::uint64_t z = per_process<counter>::here().next.fetch_add(0x9e37'79b9'7f4a'7c15,
                                                                relaxed);  // [counter]
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
  z ^= z >> 31;
  return z != 0 ? z : 1;
}

namespace detail {

namespace {

// The two records of a marked message, made when the first message of its kind is sent, and kept.
struct marked_dispatch : dispatch {
  const dispatch* inner = nullptr;
};

struct in_a_trace : envelope {
  envelope* inner = nullptr;
  trace_id trace = 0;
};

const dispatch& inner_of(const envelope& message) noexcept {
  return *static_cast<const marked_dispatch&>(*message.how).inner;
}

void may_fail_instead(conductor& by, control_block& me, envelope& message) {
  try {
    by.before_handler(me);
  } catch (...) {
    if (!message.how->redelivered || !handle_after_restart(message)) {
      const no_answer_scope why(ask_error::failed);
      message.how->discard(message);
    }
    throw;
  }
}

// Reports begun and done. An exception that leaves the handler is reported as a failure.
void run_and_tell(void* actor, envelope& message) {
  turn_context& here = this_turn();
  control_block& me = *here.running;
  const dispatch& how = *message.how;
  const observer::message_event told{me.where(), me.name(), how.message, here.trace};
  me.home().observe([&](observer& to) { to.begun(told); });
  if (conductor* const by = me.home().conducted_by()) may_fail_instead(*by, me, message);
  how.run(actor, message);
  me.home().observe([&](observer& to) { to.done(told); });
  here.trace = 0;
}

void run_marked(void* actor, envelope& message) {
  message.how = &inner_of(message);
  run_and_tell(actor, message);
}
void discard_marked(envelope& message) noexcept {
  message.how = &inner_of(message);
  message.how->discard(message);
}
std::size_t owned_by_marked(const envelope& message) noexcept {
  return inner_of(message).owned(message);
}

envelope& take_out(envelope& message) noexcept {
  auto& outer = static_cast<in_a_trace&>(message);
  envelope& inner = *outer.inner;
  free_envelope(outer);
  return inner;
}

void run_traced(void* actor, envelope& message) {
  this_turn().trace = trace_of(message);
  run_and_tell(actor, take_out(message));
}
void discard_traced(envelope& message) noexcept {
  envelope& inner = take_out(message);
  inner.how->discard(inner);
}
std::size_t owned_by_traced(const envelope& message) noexcept {
  const envelope& inner = *static_cast<const in_a_trace&>(message).inner;
  return inner.how->owned(inner);
}

struct records {
  marked_dispatch in_place;
  marked_dispatch in_trace;

  explicit records(const dispatch& of) noexcept : in_place{of, &of}, in_trace{of, &of} {
    in_place.run = run_marked;
    in_place.discard = discard_marked;
    in_trace.run = run_traced;
    in_trace.discard = discard_traced;
    if (of.owned != nullptr) {
      in_place.owned = owned_by_marked;
      in_trace.owned = owned_by_traced;
    }
  }
};

struct all_records {
  mutex guard;
  std::unordered_map<const dispatch*, std::unique_ptr<const records>> those;

  const records& of(const dispatch& how) {
    const std::lock_guard lock(guard);
    auto& found = those[&how];
    if (found == nullptr) found = std::make_unique<const records>(how);
    return *found;
  }
};

// The records that a thread has looked up recently.
struct recent_records {
  std::array<std::pair<const dispatch*, const records*>, 64> those{};
};

const records& records_of(const dispatch& how) {
  auto& recent = per_thread<recent_records>::here().those;
  auto& place =
      recent[(reinterpret_cast<std::uintptr_t>(&how) / alignof(dispatch)) % recent.size()];
  if (place.first != &how) {
    const records& found = per_process<all_records>::here().of(how);
    place = {&how, &found};
  }
  return *place.second;
}

bool is_in_a_trace(const envelope& message) noexcept { return message.how->run == run_traced; }
bool is_marked(const envelope& message) noexcept {
  return message.how->run == run_marked || is_in_a_trace(message);
}

}  // namespace

void mark_in_place(envelope& message, const system_state& home) noexcept {
  if (!home.looked_at || message.how->internal || is_marked(message)) return;
  try {
    message.how = &records_of(*message.how).in_place;
  } catch (...) {
    // No memory for the record: this message is not observed.
  }
}

envelope& marked(envelope& message, const system_state& home) noexcept {
  if (!home.looked_at || message.how->internal || is_marked(message)) return message;
  const trace_id trace = this_turn().trace;
  if (trace == 0 || !home.traces) {
    mark_in_place(message, home);
    return message;
  }
  try {
    const records& those = records_of(*message.how);
    auto* const outer = ::new (pool_allocate(sizeof(in_a_trace))) in_a_trace;
    outer->how = &those.in_trace;
    outer->inner = &message;
    outer->trace = trace;
    return *outer;
  } catch (...) {
    return message;  // the same
  }
}

envelope& unmarked(envelope& message) noexcept {
  if (is_in_a_trace(message)) {
    this_turn().trace = trace_of(message);
    return take_out(message);
  }
  if (is_marked(message)) message.how = &inner_of(message);
  return message;
}

bool is_marked_as(const envelope& message, const dispatch& how) noexcept {
  return message.how->run == run_marked && &inner_of(message) == &how;
}

std::uint64_t trace_of(const envelope& message) noexcept {
  return is_in_a_trace(message) ? static_cast<const in_a_trace&>(message).trace : 0;
}

}  // namespace detail
}  // namespace troupe
