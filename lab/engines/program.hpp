// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>

// The main function of an engine in C++ (C++17, because the engines use it):
//
//   workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] [--batch N]
//
// It prints one line, `METRIC UNIT VALUE`. A workload runs twice, and the second run is measured,
// except for idle, which runs once.
namespace workloads {

struct sizes {
  std::uint64_t workers = 0;
  std::uint64_t actors = 0;
  std::uint64_t messages = 0;
  std::uint64_t limit = 0;   // of the receiver's mailbox, if the workload has one; 0: none
  std::uint64_t batch = 64;  // actors that the collector of spawn spawns in a turn
};

struct workload {
  std::string_view name;
  double (*run)(const sizes&);  // messages or actors per second; for idle the bytes of one actor
};

inline bool read_size(std::string_view name, std::string_view text, sizes& into) {
  std::uint64_t* size = name == "--workers"    ? &into.workers
                        : name == "--actors"   ? &into.actors
                        : name == "--messages" ? &into.messages
                        : name == "--limit"    ? &into.limit
                        : name == "--batch"    ? &into.batch
                                               : nullptr;
  if (size == nullptr) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *size);
  return error == std::errc{} && end == text.data() + text.size();
}

inline void print_result(std::string_view workload, double value) {
  const char* what = workload == "idle"    ? "bytes_per_actor bytes"
                     : workload == "spawn" ? "rate actors/s"
                                           : "rate messages/s";
  std::printf("%s %.17g\n", what, value);
  std::fflush(stdout);
}

// Ends the process without waiting for threads and actors that never end.
template <std::size_t N>
[[noreturn]] void run(int count, char** arguments, const workload (&all)[N]) {
  sizes chosen;
  bool understood = count >= 2 && count % 2 == 0;
  for (int i = 2; understood && i < count; i += 2) {
    understood = read_size(arguments[i], arguments[i + 1], chosen);
  }
  for (const workload& each : all) {
    if (!understood || chosen.workers == 0 || each.name != arguments[1]) continue;
    try {
      if (each.name != "idle") static_cast<void>(each.run(chosen));
      print_result(each.name, each.run(chosen));
      std::_Exit(0);
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
      std::_Exit(1);
    }
  }
  std::fputs(
      "usage: workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] [--batch N]\n",
      stderr);
  std::_Exit(2);
}

}  // namespace workloads
