// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stdexcept>

#include <troupe/troupe.hpp>

#include "lab/engines/savina.hpp"
#include "lab/engines/troupe/measured.hpp"
#include "lab/frame/trial.hpp"

// The Savina workloads on Troupe. Each function runs once, with the sizes that begin with its name,
// and returns the seconds from the first spawn to the result. It throws if the result is wrong.
namespace troupe::lab::savina {

using namespace ::workloads::savina;
using workloads::seconds_since, workloads::system_of;
using steady = std::chrono::steady_clock;

double counting(class system& system, const trial& t);
double ring(class system& system, const trial& t);
double create(class system& system, const trial& t);
double chameneos(class system& system, const trial& t);
double big(class system& system, const trial& t);
double dictionary(class system& system, const trial& t);
double buffer(class system& system, const trial& t);
double logistic(class system& system, const trial& t);
double bank(class system& system, const trial& t);
double fibonacci(class system& system, const trial& t);
double sieve(class system& system, const trial& t);
double queens(class system& system, const trial& t);

/// One run of a variant: the workload runs once unmeasured, and then measured.
template <double (*Workload)(class system&, const trial&)>
void measured(trial& t) {
  class system system(system_of(t));
  (void)Workload(system, t);
  if (!system.join_all_for(std::chrono::seconds(60))) {
    throw std::logic_error("an actor of the first run has not terminated");
  }
  t.report("time", "ms", 1e3 * Workload(system, t));
}

}  // namespace troupe::lab::savina
