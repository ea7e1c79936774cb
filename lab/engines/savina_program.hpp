// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// The main function of the Savina program of an engine in C++ (C++17, because the engines use it):
//
//   savina WORKLOAD --workers N [--SIZE N]…
//
// The experiment `savina` lists the sizes of each workload. The program prints one line,
// `time ms VALUE`. If the result of the workload is wrong, it exits with 1.
namespace workloads::savina {

class sizes {
 public:
  void set(std::string_view name, std::uint64_t value) { all_.emplace_back(name, value); }

  std::uint64_t operator[](std::string_view name) const {
    for (const auto& [each, value] : all_) {
      if (each == name) return value;
    }
    throw std::invalid_argument("the size --" + std::string(name) + " is missing");
  }

 private:
  std::vector<std::pair<std::string_view, std::uint64_t>> all_;
};

struct workload {
  std::string_view name;
  double (*run)(const sizes&);  // seconds
};

inline bool read_sizes(int count, char** arguments, sizes& into) {
  for (int i = 2; i + 1 < count; i += 2) {
    const std::string_view name = arguments[i];
    const std::string_view text = arguments[i + 1];
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || name.substr(0, 2) != "--") {
      return false;
    }
    into.set(name.substr(2), value);
  }
  return count >= 2 && count % 2 == 0;
}

// Ends the process without waiting for threads and actors that never end.
template <std::size_t N>
[[noreturn]] void run(int count, char** arguments, const workload (&all)[N]) {
  sizes chosen;
  if (read_sizes(count, arguments, chosen)) {
    for (const workload& each : all) {
      if (each.name != arguments[1]) continue;
      try {
        std::printf("time ms %.17g\n", 1e3 * each.run(chosen));
        std::fflush(stdout);
        std::_Exit(0);
      } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        std::_Exit(1);
      }
    }
  }
  std::fputs("usage: savina WORKLOAD --workers N [--SIZE N]...\n", stderr);
  std::_Exit(2);
}

}  // namespace workloads::savina
