// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <troupe/http/figures.hpp>

namespace troupe::lua::detail {

using http_labels = std::vector<std::pair<std::string, std::string>>;

/// Collects figures, family by family.
class figure_list {
 public:
  explicit figure_list(std::vector<http::figure_family>& to) : to_(to) {}

  class family {
   public:
    family(std::vector<http::figure_family>& to, std::size_t which) : to_(to), which_(which) {}
    template <class Number>
    family& add(Number value, http_labels labels = {}) {
      to_[which_].figures.push_back({.labels = std::move(labels),
                                     .value = static_cast<double>(value),
                                     .buckets = {},
                                     .count = 0});
      return *this;
    }

   private:
    std::vector<http::figure_family>& to_;
    const std::size_t which_;
  };

  family add(const char* name, const char* help, http::figure_type type) {
    to_.push_back({.name = name, .help = help, .type = type, .figures = {}});
    return {to_, to_.size() - 1};
  }

 private:
  std::vector<http::figure_family>& to_;
};

}  // namespace troupe::lua::detail
