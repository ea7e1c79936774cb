// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/detail/sync/mutex.hpp>
#include <troupe/http/figures.hpp>

namespace troupe::lua::detail {

/// The metrics of scripts. Each belongs to one application, whose instances count together.
///
/// An application cannot affect the metrics of another one. The names are its own, so two
/// applications may use one name with different types, help or buckets. The shown name contains the
/// type: "troupe_app_NAME_total" for a counter, "troupe_app_NAME" for a gauge,
/// "troupe_app_NAME_histogram" for a histogram. So what applications show under one name always has
/// one type, as Prometheus requires, and the label `application` tells their values apart.
///
/// Threads:   any.
/// Invariant: the shown text of an application's metrics is no longer than its quota.
/// Cost:      a mutex, and two looks into maps for each update.
class script_metrics {
 public:
  using labels = std::vector<std::pair<std::string, std::string>>;  // ordered by name
  using id = std::size_t;
  static constexpr std::size_t name_bytes_max = 64;
  static constexpr std::size_t help_bytes_max = 256;
  static constexpr std::size_t labels_max = 8;
  static constexpr std::size_t label_bytes_max = 128;
  static constexpr std::size_t buckets_max = 32;

  /// Lower-case letters, digits and '_', beginning with a letter. Names with a meaning in
  /// Prometheus are excluded.
  [[nodiscard]] static bool is_name(std::string_view name) noexcept;
  [[nodiscard]] static bool is_label(std::string_view name) noexcept;
  /// The default, in seconds.
  [[nodiscard]] static std::vector<double> usual_buckets();

  /// The limits of one application.
  struct quota {
    /// Names and figures; a histogram counts as its buckets plus two.
    std::size_t figures = 0;
    /// Of the text in which they are shown.
    std::size_t bytes = 0;
  };

  struct declared {
    enum class outcome : std::uint8_t {
      done,
      another_type,
      other_buckets,
      too_many,
      too_large
    } what = outcome::done;
    script_metrics::id id = 0;
    http::figure_type type = http::figure_type::counter;  // the existing type, if it differs
  };
  /// The metric of that name, which is created if the application has none.
  declared declare(std::string_view application, std::string_view name, http::figure_type type,
                   std::string_view help, std::vector<double> buckets, const quota& most);

  /// For the application that has declared it. False: the figure exceeds the quota, and is counted.
  bool add(id of, std::string_view application, const labels& which, double amount,
           const quota& most);
  bool set(id of, std::string_view application, const labels& which, double value,
           const quota& most);
  bool observe(id of, std::string_view application, const labels& which, double value,
               const quota& most);

  [[nodiscard]] std::vector<http::figure_family> figures() const;

 private:
  struct series {
    double value = 0;
    std::uint64_t count = 0;
    std::vector<std::uint64_t> buckets;  // each excludes the lower ones
  };
  /// The figures of one application under a shown name.
  struct part {
    std::string help;
    std::vector<double> buckets;
    std::map<labels, series> all;
  };
  struct family {
    std::string name;  // as shown
    http::figure_type type = http::figure_type::counter;
    std::map<std::string, part, std::less<>> of;  // by application
  };
  struct owner {
    std::map<std::string, id, std::less<>> names;  // as its scripts know them
    std::size_t figures = 0;
    std::size_t bytes = 0;
    std::uint64_t dropped = 0;
  };

  // With the mutex. Null: it exceeds the quota.
  std::pair<series*, part*> at(id of, std::string_view application, const labels& which,
                               const quota& most);
  id family_named(std::string name, http::figure_type type);

  mutable mutex mutex_;  // guards the members below
  std::vector<family> families_;
  std::map<std::string, id, std::less<>> shown_;
  std::map<std::string, owner, std::less<>> owners_;
};

}  // namespace troupe::lua::detail
