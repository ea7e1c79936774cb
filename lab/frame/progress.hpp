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
  virtual ~progress() { clear(); }

  virtual void begin(const std::string& what);
  virtual void end(const std::string& what);

  /// Before something else is printed.
  void clear();

  bool on_terminal() const { return on_terminal_; }

 private:
  bool on_terminal_;
  bool shows_ = false;
};

}  // namespace troupe::lab
