// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/statistics.hpp>
#include <troupe/http/figures.hpp>
#include <troupe/http/statistics.hpp>

namespace troupe::http::detail {

inline constexpr const char* metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// The figures in the text format of Prometheus. A family that would make the text longer than
/// `bytes_max` is omitted, and the last figure counts those. The families of `also` come last.
[[nodiscard]] std::string to_prometheus(const troupe::statistics& of_system,
                                        const http::statistics& of_server,
                                        const std::vector<figure_family>& also = {},
                                        std::size_t bytes_max = no_limit);

}  // namespace troupe::http::detail
