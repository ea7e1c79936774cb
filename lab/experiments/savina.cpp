// SPDX-License-Identifier: Apache-2.0
// Twelve workloads of the Savina suite, on Troupe and on other engines. Each engine has a program
// of its own, which runs in a process below that of the variant.
#include "lab/peers/savina.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/engines/troupe/savina.hpp"
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"
#include "lab/frame/figures.hpp"
#include "lab/frame/process.hpp"

namespace troupe::lab::experiments {

namespace {

using namespace std::string_view_literals;

// A size belongs to the workload with whose name it begins. `all --quick` takes the published ones:
// they are small.
constexpr std::array options{
    workloads::workers,
    size_option{"warm_up_ms", "milliseconds for which the JVM repeats a workload first", 3'000, 1,
                1, 600'000, 500},
    size_option{"counting_messages", "messages", 1'000'000, 10'000, 1, most_by_default, 1'000'000},
    size_option{"ring_actors", "actors in the ring", 100, 10, 1, most_by_default, 100},
    size_option{"ring_hops", "hops of one message", 100'000, 1'000, 1, most_by_default, 100'000},
    size_option{"create_actors", "actors, each for one message", 40'000, 400, 1, most_by_default,
                40'000},
    size_option{"chameneos_creatures", "creatures", 100, 10, 2, most_by_default, 100},
    size_option{"chameneos_meetings", "meetings in total", 200'000, 1'000, 1, most_by_default,
                200'000},
    size_option{"big_actors", "actors that ping each other", 120, 12, 1, most_by_default, 120},
    size_option{"big_pings", "pings of each actor", 20'000, 100, 1, most_by_default, 20'000},
    size_option{"dictionary_clients", "clients, with one request at a time", 20, 4, 1,
                most_by_default, 20},
    size_option{"dictionary_requests", "requests of each client", 10'000, 100, 1, most_by_default,
                10'000},
    size_option{"dictionary_entries", "entries", 524'287, 1'000, 1, most_by_default, 524'287},
    size_option{"buffer_producers", "producers, and as many consumers", 40, 4, 1, most_by_default,
                40},
    size_option{"buffer_items", "items of each producer", 1'000, 10, 1, most_by_default, 1'000},
    size_option{"logistic_series", "series", 10, 4, 1, most_by_default, 10},
    size_option{"logistic_terms", "terms of each series", 25'000, 100, 1, most_by_default, 25'000},
    size_option{"bank_accounts", "accounts", 1'000, 20, 10, most_by_default, 1'000},
    size_option{"bank_transactions", "transfers between two accounts", 50'000, 500, 1,
                most_by_default, 50'000},
    size_option{"fibonacci_index", "index of the number, computed by a tree of actors", 25, 10, 1,
                40, 25},
    size_option{"sieve_limit", "numbers below this are tested", 100'000, 2'000, 3, most_by_default,
                100'000},
    size_option{"sieve_primes", "primes in each filter", 1'000, 50, 1, most_by_default, 1'000},
    size_option{"queens_size", "queens", 12, 6, 1, ::workloads::savina::most_queens, 12},
    size_option{"queens_solvers", "solvers", 20, 4, 1, most_by_default, 20},
    size_option{"queens_threshold", "rows that become messages", 4, 2, 1,
                ::workloads::savina::most_queens, 4},
};

enum class engine { caf, tokio, pekko };
constexpr std::array other_engines{"caf"sv, "tokio"sv, "pekko"sv};

constexpr std::array names{"counting"sv, "ring"sv,       "create"sv, "chameneos"sv,
                           "big"sv,      "dictionary"sv, "buffer"sv, "logistic"sv,
                           "bank"sv,     "fibonacci"sv,  "sieve"sv,  "queens"sv};

using runs = std::array<void (*)(trial&), names.size()>;

constexpr runs on_troupe{savina::measured<savina::counting>, savina::measured<savina::ring>,
                         savina::measured<savina::create>,   savina::measured<savina::chameneos>,
                         savina::measured<savina::big>,      savina::measured<savina::dictionary>,
                         savina::measured<savina::buffer>,   savina::measured<savina::logistic>,
                         savina::measured<savina::bank>,     savina::measured<savina::fibonacci>,
                         savina::measured<savina::sieve>,    savina::measured<savina::queens>};

std::vector<std::string> command_of(std::string_view engine, std::string_view workload,
                                    const trial& t) {
  std::vector<std::string> command = savina::command_of(engine);
  command.emplace_back(workload);
  for (const size_option& each : options) {
    std::string_view name = each.name;
    if (name.starts_with(workload) && name.substr(workload.size()).starts_with('_')) {
      name.remove_prefix(workload.size() + 1);
    } else if (name != "workers" && name != "warm_up_ms") {
      continue;
    }
    command.push_back("--" + std::string(name));
    command.push_back(std::to_string(t[each.name]));
  }
  return command;
}

// Runs another engine's program and reports its figures, and those of its process instead of those
// of this one.
template <engine Engine, std::size_t Workload>
void run_elsewhere(trial& t) {
  const std::string_view where = other_engines[static_cast<std::size_t>(Engine)];
  // The variant's own time limit ends both processes earlier.
  const process_outcome outcome =
      run_process(command_of(where, names[Workload], t), {.limit = std::chrono::hours(24)});
  if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
  const auto figures = read_figures(outcome.output);
  if (!figures) throw std::runtime_error("printed no figures");
  for (const figure& each : *figures) t.report(each.metric, each.unit, each.value);
  t.report("cpu_s", "s", outcome.usage.cpu_s);
  t.report("peak_rss", "bytes", outcome.usage.peak_rss_bytes);
  t.report("switches", "1", outcome.usage.switches);
  t.report("preemptions", "1", outcome.usage.preemptions);
}

template <engine Engine, std::size_t... Workload>
constexpr runs runs_elsewhere(std::index_sequence<Workload...>) {
  return {run_elsewhere<Engine, Workload>...};
}

// In the order of the workloads, so that the variants to compare run close together.
std::vector<variant> variants() {
  constexpr auto all = std::make_index_sequence<names.size()>();
  constexpr std::array others{runs_elsewhere<engine::caf>(all), runs_elsewhere<engine::tokio>(all),
                              runs_elsewhere<engine::pekko>(all)};
  std::vector<variant> made;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name(names[i]);
    made.push_back({"troupe", name, on_troupe[i]});
    for (std::size_t k = 0; k < others.size(); ++k) {
      made.push_back({std::string(other_engines[k]), name, others[k][i]});
    }
  }
  return made;
}

}  // namespace

experiment savina() {
  return {
      .asks = "How long do twelve workloads of the Savina suite take?",
      .options = {options.begin(), options.end()},
      .variants = variants(),
      .against = "troupe",
      .compares_programs = true,
      .look_for = troupe::lab::savina::look_for,
      .means =
          "Choose by the workload that resembles yours. Where actors mainly send messages, the "
          "engine decides; where they mainly compute, the language and its libraries do.",
  };
}

}  // namespace troupe::lab::experiments
