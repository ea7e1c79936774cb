// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/sync/event_count.hpp>
#include <troupe/detail/sync/futex.hpp>

// Dmitry Vyukov's eventcount, with two words. README.md beside this file explains why no
// notification is lost.

namespace troupe {

event_count::ticket event_count::prepare_wait() noexcept {
  // [waiting] acquire: if a notifier found no waiter, the caller's next check sees what the
  // notifier did before.
  waiting_.fetch_add(1, acquire);
  // [epoch] acquire: if the notification is older than the ticket, the caller sees what preceded
  // it.
  return epoch_.load(acquire);
}

void event_count::cancel_wait() noexcept {
  // [waiting] relaxed: publishes nothing; it continues the release sequence of the notifiers.
  waiting_.fetch_sub(1, relaxed);
}

void event_count::wait(ticket since) noexcept { (void)sleep(since, nullptr); }

bool event_count::wait_until(ticket since, time_point deadline) noexcept {
  return sleep(since, &deadline);
}

bool event_count::sleep(ticket since, const time_point* deadline) noexcept {
  // [epoch] acquire: makes visible what was done before the notification.
  const auto is_notified = [&] { return epoch_.load(acquire) != since; };
  bool notified = spin_.until(is_notified);
  while (!notified) {
    if (deadline == nullptr) {
      futex_wait(epoch_, since);
    } else if (futex_wait_until(epoch_, since, *deadline)) {
      notified = is_notified();
      break;
    }
    notified = is_notified();
  }
  cancel_wait();
  return notified;
}

void event_count::notify(std::uint32_t count) noexcept {
  // A read-modify-write that changes nothing, so that it is ordered with the one in prepare_wait().
  // [waiting] release: if this one is first, the check after prepare_wait() sees what was done
  // before.
  if (waiting_.fetch_add(0, release) == 0) return;
  // [epoch] release: publishes what the caller did before.
  epoch_.fetch_add(1, release);
  futex_wake(epoch_, count);
}

}  // namespace troupe
