// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace troupe::lab {

/// The compiler's flags of one of the programs or libraries that are compared.
struct compiled {
  std::string what;
  std::string flags;
};

/// Returns why a comparison of these would be unfair, as half a sentence; empty if it is fair: all
/// of them are optimised (-O2 or -O3), without sanitizers, and with the same flags.
[[nodiscard]] std::string why_not_comparable(const std::vector<compiled>& all);

/// Returns the same for Troupe and the programs in the lab: they are one program.
[[nodiscard]] std::string why_lab_is_not_comparable();

/// Returns the same for Troupe and the engines in C++ that `troupe lab peers` builds.
[[nodiscard]] std::string why_peers_are_not_comparable();

/// Prints to stderr that the command refuses to measure, why, and what to do. Returns the exit
/// status.
int refuse_comparison(const std::string& command, const std::string& why);

}  // namespace troupe::lab
