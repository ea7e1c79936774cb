// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::lab {

/// A trace at the resolution of a screen: its time is divided into equal parts.
struct timeline {
  static constexpr unsigned parts = 480;
  static constexpr unsigned names_max = 6;  ///< those that have a colour of their own
  static constexpr unsigned lanes_max = 64;

  /// The activity of a lane in the parts from `first` to `last`: a share of each of them.
  struct stretch {
    unsigned first;
    unsigned last;
    unsigned what;  ///< an index into `names`
    unsigned percent;
  };

  /// A worker, on whichever thread it runs; or a thread without a worker.
  struct lane {
    std::string name;
    std::vector<stretch> all;
    double busy_us = 0;  ///< time in handlers
  };

  struct busy_with {
    std::string name;
    double running_us = 0;
    double replaced_us = 0;  ///< time in which another thread had the worker
  };

  double length_us = 0;
  /// The handlers with the most time come first; then all others together, "looks for work", and
  /// activities outside of handlers.
  std::vector<std::string> names;
  std::vector<lane> lanes;
  unsigned lanes_left_out = 0;
  std::vector<double> replaced;     ///< for each part: threads that lost their worker
  std::vector<busy_with> handlers;  ///< those with the most time come first
  bool ends_early = false;          ///< the program died before it had written everything
  std::uint64_t slices = 0;
};

/// Reads a trace in Chrome's JSON, a list of events or an object that contains one.
///
/// Errors: std::runtime_error that describes the error.
timeline read_timeline(const std::string& text);

}  // namespace troupe::lab
