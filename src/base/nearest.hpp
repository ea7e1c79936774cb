// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::detail {

/// How many characters have to be put in, left out, replaced, or change places with their neighbour to
/// make one of the other (Damerau, 1964; Levenshtein, 1965).
std::size_t distance(std::string_view one, std::string_view other);

/// What somebody may have meant who wrote `name`: the nearest of `names`, the first of several, if
/// not more than a third of its characters are wrong; else empty.
std::string nearest(std::string_view name, const std::vector<std::string>& names);

/// "; did you mean ring?", or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace troupe::detail
