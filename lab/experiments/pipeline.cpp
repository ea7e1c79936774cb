// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "lab/frame/experiment.hpp"
#include "lab/pipeline/requests.hpp"
#include "lab/pipeline/stages.hpp"

namespace troupe::lab::experiments {

namespace {

constexpr const char* published_8 = "8 threads";

void check(const std::string& file) { (void)pipeline::read_requests(file); }

void write(const sizes& chosen, const std::string& file) {
  pipeline::write_requests(
      file, pipeline::generate(chosen["count"], std::chrono::milliseconds(chosen["longest"])));
}

}  // namespace

experiment pipeline() {
  using namespace pipeline;
  return {
      .asks =
          "How close does a server whose requests compute, yield and sleep come to the limit of "
          "its cores?",
      .options = {{"count", "requests, if they are generated", 100'000, 1'000, 100, 10'000'000,
                   4'000},
                  {"longest", "milliseconds of the longest sleep", 1'000, 20, 1, 60'000},
                  {"cores", "cores of the bound, threads of the first pool, workers of Troupe",
                   std::max(1u, std::thread::hardware_concurrency()), 2, 1, 1'024,
                   std::max(1u, std::thread::hardware_concurrency())},
                  {"threads", "threads of the other pool", 8, 8, 1, 1'024},
                  {"in-flight", "requests in flight, where each has an actor", 1'000, 100, 1,
                   1'000'000},
                  {"actors", "actors that compute, where sleeps come first", 2, 2, 1, 65'536}},
      .variants = {{"std", "sequential", sequential, true},
                   {"std", "a thread each, by 100", thread_each, true},
                   {"std", "pool, one queue, a thread for each core", pool_of_cores, true},
                   {"std", "pool, one queue, more threads", pool_of_threads, true},
                   {"troupe", "actor each, blocks, found out", actor_each_unsaid},
                   {"troupe", "actor each, blocks, said", actor_each_said},
                   {"troupe", "actor each, timers", actor_each_timers},
                   {"troupe", "sleeps first, block, found out", sleeps_first_unsaid},
                   {"troupe", "sleeps first, block, said", sleeps_first_said},
                   {"troupe", "sleeps first, timers", sleeps_first_timers}},
      .figures = {{"std", "a thread each, by 100", "wall_s", 24, published_8},
                  {"std", "a thread each, by 100", "cpu_share_of_threads", 0.086, published_8},
                  {"std", "pool, one queue, more threads", "wall_s", 3.381, published_8},
                  {"std", "pool, one queue, more threads", "rate", 29'575, published_8}},
      .input = input_file{"requests", "read the requests from this file", check, write},
      .means =
          "Start the waits of requests before other requests compute, with timers or with threads "
          "that are replaced: then the cores are never idle. No number of threads in a pool "
          "compensates for a bad order.",
  };
}

}  // namespace troupe::lab::experiments
