// SPDX-License-Identifier: Apache-2.0
#include "features.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <initializer_list>
#include <new>
#include <system_error>
#include <utility>

namespace troupe::random_programs {

namespace {

using enum feature;

constexpr std::array<const char*, feature_count> names{
    "spawns",        "stopped",         "stopped_now", "restarted",     "constructor_fails",
    "on_stop_fails", "linked",          "watched",     "watches",       "unwatches",
    "named",         "awaits_name",     "subscribed",  "publishes",     "asks",
    "asked",         "waits",           "exclusive",   "timed",         "timer_cancelled",
    "suspends",      "is_suspended",    "refuses",     "drops_newest",  "drops_oldest",
    "redirects",     "fails_when_full", "type_limit",  "charged",       "sends_when_ready",
    "uses_channel",  "changes_state",   "defers",      "state_limit",   "in_group",
    "on_dispatcher", "searched",        "locked",      "high_priority", "batch",
    "function",      "awaits_end",      "shutdown",    "shutdown_now",  "owns_bytes",
    "move_throws"};

struct rule {
  std::initializer_list<feature> one;
  std::initializer_list<feature> other;
  const char* why;
};

constexpr std::initializer_list<feature> policies{suspends_senders, refuses,   drops_newest,
                                                  drops_oldest,     redirects, fails_when_full};
constexpr std::initializer_list<feature> of_machines{changes_state, defers, state_limit};

const std::initializer_list<rule> rules{
    {policies, policies, "an actor has one overflow policy, from its spawn on"},
    {of_machines, {batch}, "a state machine has no batch handlers"},
    {of_machines, {function}, "an actor that is a function is no state machine"},
    {{function},
     {restarted, constructor_fails},
     "an actor that is a function cannot be a child of a supervisor"},
    {{function}, {on_stop_fails}, "an actor that is a function has no on_stop()"},
    {{function}, {named}, "a name is given to a ref, and a function has only a recipient"},
    {{function}, {subscribed}, "a ref subscribes, and a function has only a recipient"},
    {{function}, {asked}, "a function answers no requests"},
    {{function}, {exclusive}, "a function has no exclusive handlers"},
    {{function}, {redirects}, "redirect_to() takes a ref, and a function has only a recipient"},
    {{function}, {type_limit}, "the limits of types are declared by a class"},
    {{function}, {batch}, "a function receives its messages one by one"},
    {{function}, {searched}, "a function does not list what it holds"},
    {{function}, {locked}, "a weak_ref is made of a ref, and a function has only a recipient"},
    {{shutdown}, {shutdown_now}, "a run ends in one way"},
};

bool is_in(std::initializer_list<feature> of, feature f) noexcept {
  return std::find(of.begin(), of.end(), f) != of.end();
}

}  // namespace

const char* to_string(feature f) noexcept { return names[static_cast<std::size_t>(f)]; }

const char* impossible(feature one, feature other) noexcept {
  if (one == other) return "the same";
  for (const rule& each : rules) {
    if ((is_in(each.one, one) && is_in(each.other, other)) ||
        (is_in(each.one, other) && is_in(each.other, one))) {
      return each.why;
    }
  }
  return nullptr;
}

struct matrix::counts {
  std::array<std::array<std::atomic<std::uint32_t>, feature_count>, feature_count> of{};
};

matrix::matrix()
    : counts_([] {
        void* const memory = ::mmap(nullptr, sizeof(counts), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
          throw std::system_error(errno, std::generic_category(), "the matrix of features: mmap");
        }
        return ::new (memory) counts;
      }()) {}

matrix::~matrix() { ::munmap(counts_, sizeof(counts)); }

void matrix::add(const pairs& of_run) noexcept {
  for (std::size_t f = 0; f < feature_count; ++f) {
    for (std::size_t g = f + 1; g < feature_count; ++g) {
      if (of_run.has(f, g)) counts_->of[f][g].fetch_add(1, std::memory_order_relaxed);
    }
  }
}

std::uint32_t matrix::count(std::size_t f, std::size_t g) const noexcept {
  return counts_->of[std::min(f, g)][std::max(f, g)].load(std::memory_order_relaxed);
}

std::string matrix::text() const {
  char cell[32];
  std::string all(21, ' ');
  for (std::size_t g = 0; g < feature_count; ++g) {
    std::snprintf(cell, sizeof cell, "%5zu", g);
    all += cell;
  }
  all += '\n';
  for (std::size_t f = 0; f < feature_count; ++f) {
    std::snprintf(cell, sizeof cell, "%2zu %-18s", f, names[f]);
    all += cell;
    for (std::size_t g = 0; g < feature_count; ++g) {
      if (f == g) {
        std::snprintf(cell, sizeof cell, "    \\");
      } else if (impossible(feature(f), feature(g)) != nullptr) {
        std::snprintf(cell, sizeof cell, "    .");
      } else {
        std::snprintf(cell, sizeof cell, "%5u", std::min(count(f, g), 99'999u));
      }
      all += cell;
    }
    all += '\n';
  }
  return all;
}

std::string matrix::missing() const {
  std::string all;
  for (std::size_t f = 0; f < feature_count; ++f) {
    for (std::size_t g = f + 1; g < feature_count; ++g) {
      if (impossible(feature(f), feature(g)) != nullptr || count(f, g) != 0) continue;
      all += std::string(names[f]) + " and " + names[g] + "\n";
    }
  }
  return all;
}

}  // namespace troupe::random_programs
