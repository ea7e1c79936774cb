// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include <troupe/message/address.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::detail {

/// Which actors do nothing else until another one has answered: those with an exclusive handler that
/// waits, or one that waits in asking::get(). If they wait for each other in a circle none of them
/// will, until a time-out, which names them.
///
/// Threads: any.
/// Cost:    a mutex of the system, for these only.
class circles {
 public:
  void begin(const address& who, const address& waits_for) noexcept;
  void end(const address& who) noexcept;
  void clear() noexcept;  // a new system begins

  /// "clerk waits for teller, which waits for clerk", if one who is waited for, from this one on,
  /// waits in a circle; else null.
  [[nodiscard]] std::unique_ptr<std::string> find(const address& from) noexcept;

 private:
  mutable mutex mutex_;  // guards what follows
  std::unordered_map<address, address> waits_for_;
};

}  // namespace troupe::detail
