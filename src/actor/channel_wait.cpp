// SPDX-License-Identifier: Apache-2.0
// A thread that waits for channels.
#include <array>
#include <stdexcept>
#include <string>

#include <troupe/actor/channel.hpp>
#include <troupe/actor/channel_core.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/sync/parker.hpp>

namespace troupe::detail {
namespace {

void check_may_wait() {
  const control_block* const who = this_turn().running;
  if (who == nullptr || who->runs_on().may_block()) return;
  throw std::logic_error("waiting for a troupe::channel in a handler of " +
                         std::string(who->name()) +
                         " would block a thread that it shares with other actors: use try_send() "
                         "and try_receive(), or spawn it with own_thread");
}

class sleeping_thread final : public channel_waiter {
 public:
  /// False if the deadline came first; then it is never notified.
  [[nodiscard]] bool sleep(time_point deadline) noexcept {
    if (deadline != time_point::max()) {
      if (parker_.park_until(deadline)) return true;
      if (decide()) return false;
      // Another thread has decided it and is about to notify.
    }
    parker_.park();
    return true;
  }

  void tell() noexcept override { parker_.notify(); }

 private:
  parker parker_;
};

}  // namespace

std::pair<channel_core::progress, channel_case*> wait_for_one(std::span<channel_case*> cases,
                                                              std::span<channel_core*> locks,
                                                              time_point deadline) {
  if (deadline == at_once) return channel_core::begin(cases, locks, nullptr);
  check_may_wait();
  sleeping_thread me;
  const auto now = channel_core::begin(cases, locks, &me);
  if (now.first != channel_core::progress::must_wait) return now;
  const bool told = me.sleep(deadline);
  // The thread that completed the only case has taken it out of its line.
  if (!told || cases.size() > 1) channel_core::leave(cases);
  if (!told) return now;
  using enum channel_core::progress;
  return {me.done() != nullptr ? done : closed, me.done()};
}

channel_delivery send_one(channel_case& value, time_point deadline) {
  using enum channel_core::progress;
  const overflow::policy on_full = value.of->on_full();
  const bool waits = on_full == overflow::policy::backpressure && deadline != at_once;
  std::array<channel_case*, 1> alone{&value};
  std::array<channel_core*, 1> lock;
  switch (waits ? wait_for_one(alone, lock, deadline).first : value.of->try_send(value)) {
    case done:
      return channel_delivery::accepted;
    case closed:
      return channel_delivery::closed;
    case must_wait:
      break;
  }
  if (waits || on_full != overflow::policy::backpressure) return not_sent_in_time(value);
  return channel_delivery::refused;
}

channel_delivery not_sent_in_time(const channel_case& value) {
  switch (value.of->on_full()) {
    case overflow::policy::backpressure:
      value.of->count_timed_out();
      return channel_delivery::timed_out;
    case overflow::policy::drop_newest:
      return channel_delivery::dropped;
    default:
      return channel_delivery::refused;
  }
}

channel_core::progress receive_one(channel_case& value, time_point deadline) {
  std::array<channel_case*, 1> alone{&value};
  std::array<channel_core*, 1> lock;
  return wait_for_one(alone, lock, deadline).first;
}

}  // namespace troupe::detail

namespace troupe {

std::string_view to_string(channel_delivery what) noexcept {
  switch (what) {
    case channel_delivery::accepted:
      return "accepted";
    case channel_delivery::refused:
      return "refused";
    case channel_delivery::dropped:
      return "dropped";
    case channel_delivery::timed_out:
      return "timed_out";
    case channel_delivery::closed:
      return "closed";
  }
  return "closed";
}

}  // namespace troupe
