// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::lab {

/// Another engine's program, ready to run.
struct prepared_engine {
  std::string program;
  std::string version;
};

/// Why an engine takes no part.
struct left_out {
  std::string why;
};

/// Where engines come from and where they are built.
struct engine_folders {
  std::string sources;  ///< lab/engines
  std::string cache;
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
