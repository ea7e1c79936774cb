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
  std::vector<std::string> command;  ///< precedes the workload's name; may contain workers_here
  std::string version;
  std::string settings;    ///< choices that could be different; may contain workers_here
  std::string newer = {};  ///< a newer version, if one is known
};

/// A placeholder for the number of workers, in commands and settings.
inline constexpr std::string_view workers_here = "{workers}";

/// Replaces the placeholder by the number.
std::string with_workers(std::string text, std::uint64_t workers);

/// Where the sources of engines are, and where they are built.
struct engine_folders {
  std::string sources;  ///< lab/engines; those of another folder are built in its `build`
  std::string cache;    ///< where lab/engines is built
};

/// Another engine: a folder under lab/engines with a program that runs the workloads.
struct engine {
  std::string_view name;
  /// Builds the program if necessary. Throws left_out.
  prepared_engine (*prepare)(const engine_folders&);
  /// The workloads and variants that it does not support.
  std::vector<std::pair<std::string_view, std::string_view>> lacks = {};

  bool has(std::string_view workload, std::string_view variant) const;
};

/// All except Troupe, which is this program itself.
const std::vector<engine>& other_engines();

}  // namespace troupe::lab
