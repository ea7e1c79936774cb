// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/peers/building.hpp"

namespace troupe::lab {

/// Another engine's program, ready to run.
struct prepared_engine {
  std::vector<std::string> command;  ///< before the workload's name; may have workers_here in it
  std::string version;
  std::string settings;    ///< what could have been chosen otherwise; may have workers_here in it
  std::string newer = {};  ///< a version that has come out since, if that is known
};

/// Stands for the number of workers, in commands and settings.
inline constexpr std::string_view workers_here = "{workers}";

/// With their number instead.
std::string with_workers(std::string text, std::uint64_t workers);

/// Where engines come from and where they are built.
struct engine_folders {
  std::string sources;  ///< lab/engines; others are built in a folder `build` of theirs
  std::string cache;    ///< where lab/engines is built
};

/// Another engine: a folder under lab/engines with a program that runs the workloads.
struct engine {
  std::string_view name;
  /// Builds what is not built yet. Throws left_out.
  prepared_engine (*prepare)(const engine_folders&);
  /// Workload and variant of what it has no form for.
  std::vector<std::pair<std::string_view, std::string_view>> lacks = {};

  bool has(std::string_view workload, std::string_view variant) const;
};

/// All but Troupe, which is this program itself.
const std::vector<engine>& other_engines();

}  // namespace troupe::lab
