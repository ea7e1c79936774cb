// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "lab/report/timeline.hpp"

namespace troupe::lab {

/// A file that the report is made of: a result, or a trace.
struct source {
  std::string file;
  nlohmann::ordered_json result = {};  ///< what --json wrote; null if this is a trace
  std::optional<timeline> trace = {};  ///< what --trace wrote, if it is one
};

/// Tells by the contents which of the two it is.
///
/// Errors: std::runtime_error with the file, what is wrong there, and what is expected.
source read_source(const std::string& file);

}  // namespace troupe::lab
