// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace troupe::lab {

/// Shows on stderr what runs. On a terminal, the current step and the last result share one line,
/// which is removed at the end. Otherwise each result is a line.
class progress {
 public:
  progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  virtual ~progress() { clear(); }

  virtual void begin(const std::string& what);
  virtual void end(const std::string& what);

  /// To be called before other output.
  void clear();

  bool on_terminal() const { return on_terminal_; }

 private:
  bool on_terminal_;
  bool shows_ = false;
};

}  // namespace troupe::lab
