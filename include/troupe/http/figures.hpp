// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::http {

/// One figure of a family, told apart by its labels.
struct figure {
  std::vector<std::pair<std::string, std::string>> labels = {};
  /// Of a counter or a gauge; of a histogram the sum of what was observed.
  double value = 0;
  /// Of a histogram: how many were at most that much. `upper` rises, and what is beyond the last is in `count` alone.
  struct bucket {
    double upper = 0;
    std::uint64_t count = 0;
  };
  std::vector<bucket> buckets = {};
  std::uint64_t count = 0;
};

enum class figure_type : std::uint8_t { counter, gauge, histogram };

/// Figures of one name, as Prometheus has them: a counter's ends in "_total".
struct figure_family {
  std::string name;
  std::string help;
  figure_type type = figure_type::gauge;
  std::vector<figure> figures = {};
};

/// What else is shown with the figures of a server. It is called on the thread of a connection, on several at once, and
/// must not wait for anything.
using figure_source = std::function<std::vector<figure_family>()>;

}  // namespace troupe::http
