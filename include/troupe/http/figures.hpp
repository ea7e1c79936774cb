// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::http {

/// One value of a metric family, distinguished by its labels.
struct figure {
  std::vector<std::pair<std::string, std::string>> labels = {};
  /// The value of a counter or a gauge, or the sum of the observations of a histogram.
  double value = 0;
  /// A histogram bucket: the number of observations of at most `upper`. Buckets are sorted by
  /// `upper`; observations above the last bucket are counted only in `count`.
  struct bucket {
    double upper = 0;
    std::uint64_t count = 0;
  };
  std::vector<bucket> buckets = {};
  std::uint64_t count = 0;
};

enum class figure_type : std::uint8_t { counter, gauge, histogram };

/// All metrics of one name, in Prometheus' data model: the name of a counter ends in "_total".
struct figure_family {
  std::string name;
  std::string help;
  figure_type type = figure_type::gauge;
  std::vector<figure> figures = {};
};

/// Supplies additional metrics for http::server::metrics(). It is called on a thread for metrics,
/// once at a time. While it runs, no other client of metrics() gets its response. An exception is
/// answered with 500.
using figure_source = std::function<std::vector<figure_family>()>;

}  // namespace troupe::http
