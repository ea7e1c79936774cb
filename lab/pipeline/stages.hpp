// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/frame/trial.hpp"

// The ways to process the requests. Each is one run: it measures the bound, processes all requests,
// compares the control sum, and reports.
namespace troupe::lab::pipeline {

void sequential(trial& t);
void thread_each(trial& t);    ///< in batches: each waits for its slowest request
void pool_of_cores(trial& t);  ///< one queue
void pool_of_threads(trial& t);

// Troupe: an actor for each request, which begins when its turn comes.
void actor_each_unsaid(trial& t);
void actor_each_said(trial& t);
void actor_each_timers(trial& t);

// Troupe: sleeps begin when the request has been read; a few actors compute the requests that are
// ready.
void sleeps_first_unsaid(trial& t);
void sleeps_first_said(trial& t);
void sleeps_first_timers(trial& t);

}  // namespace troupe::lab::pipeline
