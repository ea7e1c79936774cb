// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "lab/report/source.hpp"

namespace troupe::lab {

/// Returns the data of the page: hosts; for each experiment its texts, its runs, and for each
/// metric the results of each run beside the published figures; and timelines. An experiment that
/// the catalogue does not contain is described by its file.
nlohmann::ordered_json page_data(const std::vector<source>& sources);

}  // namespace troupe::lab
