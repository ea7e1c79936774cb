// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::detail {

/// Returns the edit distance between two strings (Damerau, 1964; Levenshtein, 1965).
///
/// The distance is the number of characters to insert, delete, replace, or swap with their
/// neighbour to turn one string into the other.
std::size_t distance(std::string_view one, std::string_view other);

/// Suggests the name that a misspelled `name` was probably meant to be.
///
/// Returns the nearest of `names`, or the first of several equally near ones, if at most a third of
/// the characters are wrong; otherwise an empty string.
std::string nearest(std::string_view name, const std::vector<std::string>& names);

/// Returns a hint such as "; did you mean ring?", or an empty string.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace troupe::detail
