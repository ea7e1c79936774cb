// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::lab {

/// A trace, as coarse as a screen: its time is cut into equal parts.
struct timeline {
  static constexpr unsigned parts = 480;
  static constexpr unsigned names_max = 6;  ///< that have a colour of their own
  static constexpr unsigned lanes_max = 64;

  /// What a lane did in the parts from `first` to `last`: a share of each of them.
  struct stretch {
    unsigned first;
    unsigned last;
    unsigned what;  ///< an index into `names`
    unsigned percent;
  };

  /// A worker, whichever thread has it; or a thread without one.
  struct lane {
    std::string name;
    std::vector<stretch> all;
    double busy_us = 0;  ///< that it handled messages
  };

  struct busy_with {
    std::string name;
    double running_us = 0;
    double replaced_us = 0;  ///< while another thread had the worker
  };

  double length_us = 0;
  /// What takes longest comes first; then what all others did, "looks for work", and what is beside the handlers.
  std::vector<std::string> names;
  std::vector<lane> lanes;
  unsigned lanes_left_out = 0;
  std::vector<double> replaced;     ///< for each part: threads whose worker another one has
  std::vector<busy_with> handlers;  ///< what takes longest comes first
  bool ends_early = false;          ///< the program died before it had written all
  std::uint64_t slices = 0;
};

/// Of a trace in Chrome's JSON, a list of events or an object with one.
///
/// Errors: std::runtime_error that says what is wrong.
timeline read_timeline(const std::string& text);

}  // namespace troupe::lab
