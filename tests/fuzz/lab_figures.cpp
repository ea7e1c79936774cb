// SPDX-License-Identifier: Apache-2.0

// The output of the programs that the lab compares.

#include "lab/frame/figures.hpp"

#include <cmath>

#include "fuzz.hpp"

using namespace troupe::fuzz;
using namespace troupe::lab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{text_of(data, size)};
  const auto all = read_figures(text);
  if (!all) return 0;
  require(!all->empty(), "who has printed nothing has printed no figures");
  constexpr const char* blank = " \t\n\v\f\r";
  for (const figure& each : *all) {
    for (const std::string& word : {each.metric, each.unit}) {
      require(!word.empty() && word.find_first_of(blank) == std::string::npos, "a name is a word");
    }
    require(std::isfinite(each.value), "a value is a number");
  }
  const std::string written = print_figures(*all);
  const auto again = read_figures(written);
  require(again && std::equal(again->begin(), again->end(), all->begin(), all->end(),
                              [](const figure& one, const figure& other) {
                                return one.metric == other.metric && one.unit == other.unit &&
                                       one.value == other.value;
                              }),
          "what is printed is read again");
  return 0;
}
