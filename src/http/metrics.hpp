// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <troupe/actor/statistics.hpp>
#include <troupe/http/figures.hpp>
#include <troupe/http/statistics.hpp>

namespace troupe::http::detail {

inline constexpr const char* metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// The figures in the text format of Prometheus.
[[nodiscard]] std::string to_prometheus(const troupe::statistics& of_system,
                                        const http::statistics& of_server,
                                        const std::vector<figure_family>& also = {});

}  // namespace troupe::http::detail
