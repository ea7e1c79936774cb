// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace troupe::lab {

/// The conditions on which figures depend, besides the program's options.
struct host {
  std::string cpu;
  unsigned cores;  ///< available to this process
  bool is_virtual;
  double memory_bytes;
  std::string os;
  std::string kernel;
  std::string compiler;
  std::string flags;
  std::string commit;
  double load;  ///< load average of the last minute
};

host look_at_host();

}  // namespace troupe::lab
