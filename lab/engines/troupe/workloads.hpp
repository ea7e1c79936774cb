// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/frame/trial.hpp"

// The workloads by which actor libraries are compared, on Troupe. Each is one run: it measures from
// the first message to the last and reports `rate`, or `bytes_per_actor`.
namespace troupe::lab::workloads {

void pingpong(trial& t);
void pairs(trial& t);
void ring(trial& t);
void wall(trial& t);
void fanin_unbounded(trial& t);
void spawn(trial& t);
void idle(trial& t);

}  // namespace troupe::lab::workloads
