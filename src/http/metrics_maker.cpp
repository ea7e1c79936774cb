// SPDX-License-Identifier: Apache-2.0

#include "metrics_maker.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "metrics.hpp"
#include "server_context.hpp"

namespace troupe::http::detail {

metrics_maker::metrics_maker(std::weak_ptr<const server_context> of, figure_source also,
                             std::size_t bytes_max)
    : of_(std::move(of)), also_(std::move(also)), bytes_max_(bytes_max) {}

void metrics_maker::on(std::span<wanted> together) {
  const std::shared_ptr<const std::string> text = make();
  for (const wanted& each : together) {
    try {
      each.by.send(metrics_text{each.number, text});
    } catch (const std::bad_alloc&) {
      // The time limit of the request ends it.
    }
  }
}

// An exception of a figure source fails the requests that wait for it, and not this actor.
std::shared_ptr<const std::string> metrics_maker::make() const noexcept {
  try {
    // Not longer than for this: the server has handlers of the program, which end with the server.
    std::shared_ptr<const server_context> of = of_.lock();
    if (!of) return nullptr;
    const troupe::statistics of_system = of->system.statistics();
    const http::statistics of_server = of->snapshot();
    of.reset();
    return std::make_shared<const std::string>(to_prometheus(
        of_system, of_server, also_ ? also_() : std::vector<figure_family>(), bytes_max_));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "troupe: http: the metrics could not be made: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "troupe: http: the metrics could not be made\n");
  }
  return nullptr;
}

}  // namespace troupe::http::detail
