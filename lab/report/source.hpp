// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "lab/report/timeline.hpp"

namespace troupe::lab {

/// An input file of the report: a result, or a trace.
struct source {
  std::string file;
  nlohmann::ordered_json result = {};  ///< the output of --json; null if this is a trace
  std::optional<timeline> trace = {};  ///< the output of --trace, if it is one
};

/// Detects by the contents which of the two it is.
///
/// Errors: std::runtime_error with the file, the error, and what is expected.
source read_source(const std::string& file);

}  // namespace troupe::lab
