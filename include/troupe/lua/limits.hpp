// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace troupe::lua {

/// The limits of one instance of an application. None of them can be unlimited; each violation is
/// counted.
struct limits {
  /// Bytes of its Lua state. An allocation beyond it fails. Above the warning threshold, garbage is
  /// collected after each message and a warning is logged.
  std::size_t memory_bytes = 64 * 1024 * 1024;
  std::size_t memory_warning_bytes = 48 * 1024 * 1024;

  /// The run time of one handler until it returns or is suspended. A handler that exceeds it fails.
  std::chrono::milliseconds run_timeout{1'000};

  /// Messages waiting in the mailbox, and their bytes. When it is full, its clients are not read
  /// and other senders are suspended.
  std::size_t mailbox_messages = 10'000;
  std::size_t mailbox_bytes = 8 * 1024 * 1024;

  /// Suspended handlers at a time; one more fails.
  std::size_t waiting = 10'000;
  /// Timers at a time; creating one more is an error in the script.
  std::size_t timers = 10'000;
  /// WebSockets opened by its scripts, at a time; opening one more is an error in the script.
  std::size_t connections = 100;
  /// Functions registered for topics and for presence; registering one more is an error in the
  /// script.
  std::size_t subscriptions = 1'000;
  /// For the whole application: metrics and their values, one for each set of labels; a histogram
  /// counts as its buckets plus two. One more is dropped and counted.
  std::size_t metrics = 1'000;

  /// In an upgrade: the time limit for on_start and self_test of the new version. After the switch:
  /// the time limit for suspended handlers of the old version. Handlers beyond it fail.
  std::chrono::milliseconds upgrade_timeout{10'000};

  friend bool operator==(const limits&, const limits&) = default;
};

}  // namespace troupe::lua
