// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/sim/simulation.hpp>

#include "features.hpp"

namespace troupe::random_programs {

/// Generates and runs the program of the simulation's seed, and throws a description of the first
/// broken property.
///
/// The simulation makes all random choices, so sim::explore() can simplify a failing program. The
/// seed itself selects two features, which the program tries to combine on one actor. With
/// `verbose`, each operation prints a line on stderr.
void run_program(sim::simulation& sim, matrix& into, bool verbose = false);

}  // namespace troupe::random_programs
