// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/frame/trial.hpp"

namespace troupe::lab {

/// Returns `METRIC UNIT VALUE`, a line for each figure. In this form a run of one variant, or
/// another engine's program, reports its figures. `# NOTE` is a note.
[[nodiscard]] std::string print_figures(const std::vector<figure>& all);
[[nodiscard]] std::string print_notes(const std::vector<std::string>& all);

/// Returns nothing if a line has another form, a value is not a finite number, or there is no
/// figure.
[[nodiscard]] std::optional<std::vector<figure>> read_figures(const std::string& text);

[[nodiscard]] std::vector<std::string> read_notes(const std::string& text);

}  // namespace troupe::lab
