// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace troupe::lab {

/// What figures depend on beside the program's options.
struct host {
  std::string cpu;
  unsigned cores;  ///< that this process may use
  bool is_virtual;
  double memory_bytes;
  std::string os;
  std::string kernel;
  std::string compiler;
  std::string flags;
  std::string commit;
  double load;  ///< the load average of the last minute
};

host look_at_host();

}  // namespace troupe::lab
