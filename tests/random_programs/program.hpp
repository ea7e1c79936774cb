// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/sim/simulation.hpp>

#include "features.hpp"

namespace troupe::random_programs {

/// The program of the simulation's seed: makes it, runs it, and throws what was found not to be true.
///
/// All that is random in it is chosen by the simulation, so that a program that fails can be made simpler by
/// sim::explore(). The seed itself names two features, which the program tries to bring together on one actor.
/// `verbose`: each operation is a line on stderr.
void run_program(sim::simulation& sim, matrix& into, bool verbose = false);

}  // namespace troupe::random_programs
