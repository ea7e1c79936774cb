// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace troupe::lab {

/// Says on stderr what runs. On a terminal what begins and what has ended share one line, which goes
/// away in the end; elsewhere each end is a line.
class progress {
 public:
  progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  void begin(const std::string& what);
  void end(const std::string& what);

  /// Before something else is printed.
  void clear();

 private:
  bool on_terminal_;
  bool shows_ = false;
};

}  // namespace troupe::lab
