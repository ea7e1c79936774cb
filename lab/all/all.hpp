// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace troupe::lab {

/// How much `troupe lab all` measures.
enum class extent {
  smoke,  ///< checks that everything still works
  quick,  ///< orders of magnitude, within three minutes on two cores
  full,   ///< the published sizes, in more rounds: figures for publication
};

struct all_options {
  extent how = extent::quick;
  unsigned repeat = 0;              ///< number of rounds; 0: the default of the extent
  std::chrono::seconds limit{120};  ///< for one run
  std::string folder = "troupe-lab-results";
  std::vector<std::string> only;  ///< only these experiments; empty: all
  bool fresh = false;             ///< remove existing results first
};

/// Measures the experiments of the catalogue one at a time, and writes the --json object of each
/// into the folder as soon as it is complete. A result that already exists in the folder is kept if
/// it was measured in the same way, on the same host and by the same commit.
///
/// Returns the exit status of the program: 1 if an experiment failed, 2 if the folder is not
/// suitable or has other results, after a signal 128 plus its number.
int run_all(const all_options& options);

}  // namespace troupe::lab
