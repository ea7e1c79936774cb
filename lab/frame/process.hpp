// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace troupe::lab {

/// What a process used, with the children that it waited for.
struct process_usage {
  double cpu_s = 0;  ///< user and system
  double peak_rss_bytes = 0;
  double switches = 0;     ///< it waited for something
  double preemptions = 0;  ///< somebody else got the core
};

struct process_outcome {
  std::string failure;   ///< empty if it exited with 0
  bool stopped = false;  ///< killed because of process_options::stop
  std::string output;    ///< its stdout
  std::string errors;    ///< its stderr
  process_usage usage;
};

struct process_options {
  std::chrono::seconds limit{120};  ///< it is killed, with its group, if it takes longer
  std::string folder = {};          ///< where it runs; empty: here
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< beside what is there
  int stop = -1;  ///< a descriptor: when it can be read, the program is killed; -1: none
};

/// Runs a program with nothing on its stdin and waits for its end. The program is looked for in PATH.
/// It dies with the caller.
///
/// Threads: of a process with one thread.
process_outcome run_process(const std::vector<std::string>& command,
                            const process_options& options = {});

}  // namespace troupe::lab
