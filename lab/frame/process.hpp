// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace troupe::lab {

/// The resources that a process used, including the children that it waited for.
struct process_usage {
  double cpu_s = 0;  ///< user and system
  double peak_rss_bytes = 0;
  double switches = 0;     ///< the process waited
  double preemptions = 0;  ///< another process got the core
};

struct process_outcome {
  std::string failure;   ///< empty if it exited with 0
  bool stopped = false;  ///< killed because of process_options::stop
  std::string output;    ///< its stdout
  std::string errors;    ///< its stderr
  process_usage usage;
};

struct process_options {
  std::chrono::seconds limit{120};  ///< after this time it is killed, with its process group
  std::string folder = {};          ///< working directory; empty: the current one
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< added to the caller's
  int stop = -1;  ///< a descriptor: when it is readable, the program is killed; -1: none
};

/// Runs a program with an empty stdin and waits for its end. The program is searched in PATH. It
/// dies with the caller.
///
/// Threads: only for a process with one thread.
process_outcome run_process(const std::vector<std::string>& command,
                            const process_options& options = {});

}  // namespace troupe::lab
