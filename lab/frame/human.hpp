// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace troupe::lab {

/// Returns a value with about three digits and a suitable prefix: "44.3 M", "12.1 MB", "0.0183".
std::string human(double value, const std::string& unit);

}  // namespace troupe::lab
