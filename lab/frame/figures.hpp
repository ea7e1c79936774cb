// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/frame/trial.hpp"

namespace troupe::lab {

/// `METRIC UNIT VALUE`, a line for each: how a run of one variant, or another engine's program, hands
/// its figures over.
[[nodiscard]] std::string print_figures(const std::vector<figure>& all);

/// Nothing if a line is none of these, a value is no finite number, or there is no line.
[[nodiscard]] std::optional<std::vector<figure>> read_figures(const std::string& text);

}  // namespace troupe::lab
