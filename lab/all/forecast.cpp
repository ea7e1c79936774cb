// SPDX-License-Identifier: Apache-2.0
#include "lab/all/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace troupe::lab {

namespace {

// `took_s` in the files of `troupe lab all`, divided by the number of rounds.
constexpr kept_cost kept[] = {
    {"ask", 0.17, 0.11},      {"asleep", 0.88, 4.4},     {"creation", 3.3, 11},
    {"fanin", 0.85, 1.1},     {"handoff", 5.2, 190},     {"idle", 0.41, 0.68},
    {"mutex", 8.8, 20},       {"neighbours", 0.48, 5.3}, {"pairs", 0.57, 0.53},
    {"pingpong", 0.32, 0.22}, {"pipeline", 8.3, 180},    {"queue", 1.9, 7.4},
    {"queue_sizes", 3.4, 10}, {"ring", 0.54, 0.34},      {"semaphore", 4.1, 33},
    {"sharing", 3.4, 55},     {"spawn", 0.4, 0.31},      {"switching", 0.65, 7.6},
    {"timers", 1.9, 1.5},     {"wall", 1.8, 25},         {"settings", 0.1, 1.5},
    {"scheduling", 4.8, 24},  {"ipc", 0.79, 25},         {"receivers", 0.42, 8.7},
    {"bursts", 0.44, 11},     {"crowd", 0.39, 3.9},      {"ws", 8, 240},
    {"savina", 1.3, 80},
};

constexpr double middling_quick_s = 2;
constexpr double middling_full_s = 10;

}  // namespace

kept_cost kept_cost_of(std::string_view experiment) {
  const auto found = std::find_if(std::begin(kept), std::end(kept), [&](const kept_cost& each) {
    return each.experiment == experiment;
  });
  return found != std::end(kept) ? *found
                                 : kept_cost{experiment, middling_quick_s, middling_full_s};
}

std::string left_text(double seconds) {
  if (seconds < 10) return "some seconds left";
  if (seconds < 95) return "about " + std::to_string(std::lround(seconds / 10) * 10) + " s left";
  return "about " + std::to_string(std::lround(seconds / 60)) + " min left";
}

}  // namespace troupe::lab
