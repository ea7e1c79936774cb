// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace troupe::lab {

/// How much `troupe lab all` measures.
enum class extent {
  smoke,  ///< does all of it still work?
  quick,  ///< orders of magnitude, within three minutes on two cores
  full,   ///< the published sizes, in more rounds: figures to publish
};

struct all_options {
  extent how = extent::quick;
  unsigned repeat = 0;              ///< rounds; 0: as many as suit the extent
  std::chrono::seconds limit{120};  ///< for one run
  std::string folder = "troupe-lab-results";
  std::vector<std::string> only;  ///< these experiments; empty: all
  bool fresh = false;             ///< remove the results that are there first
};

/// Measures the experiments of the catalogue one after the other, and writes the object of --json of
/// each into the folder as soon as it is there. What the folder has already, measured in the same way
/// on the same machine by the same commit, is not measured again.
///
/// Returns what the program exits with: 1 if something failed, 2 if the folder is none for results
/// or has others, 128 and its number after a signal.
int run_all(const all_options& options);

}  // namespace troupe::lab
