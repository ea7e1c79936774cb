// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace troupe::lua {

/// How much one instance of an application may take. None is «unlimited»; what is refused is counted.
struct limits {
  /// Bytes of its Lua state. What needs more fails; above the warning, garbage is collected after each message
  /// and the log says so.
  std::size_t memory_bytes = 64 * 1024 * 1024;
  std::size_t memory_warning_bytes = 48 * 1024 * 1024;

  /// Of one handler, until it returns or waits. Then it fails.
  std::chrono::milliseconds run_time{1'000};

  /// Messages that may wait for it, and their bytes; then its clients are held back, and who else sends is paused.
  std::size_t mailbox_messages = 10'000;
  std::size_t mailbox_bytes = 8 * 1024 * 1024;

  /// Handlers that wait at a time; one more fails.
  std::size_t waiting = 10'000;
  /// Timers at a time; one more is an error for the script.
  std::size_t timers = 10'000;
  /// WebSockets that its scripts have connected, at a time; one more is an error for the script.
  std::size_t connections = 100;
  /// Functions that are called for topics and for who comes and goes; one more is an error for the script.
  std::size_t subscriptions = 1'000;
  /// Of the whole application: metrics and their figures, one for each set of labels; a histogram counts for its
  /// buckets and two. One more is dropped and counted.
  std::size_t metrics = 1'000;

  /// In an upgrade, until on_start and self_test of the new version have returned; and then, until what still waits in the
  /// version before has ended. What has not by then fails.
  std::chrono::milliseconds upgrade_time{10'000};

  friend bool operator==(const limits&, const limits&) = default;
};

}  // namespace troupe::lua
