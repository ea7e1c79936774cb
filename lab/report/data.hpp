// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "lab/report/source.hpp"

namespace troupe::lab {

/// What the page draws: machines; for each experiment its texts, its runs, and for each metric what each run found
/// beside what was published; and timelines. An experiment that the catalogue does not know has what its file has.
nlohmann::ordered_json page_data(const std::vector<source>& sources);

}  // namespace troupe::lab
