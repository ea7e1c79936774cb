// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/http/figures.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::lua::detail {

/// The figures that scripts count. Each belongs to one application, all of whose instances count
/// together. It is shown as "troupe_app_NAME" with the label `application`.
///
/// Threads: any.
/// Cost:    a mutex and two lookups in maps for each update.
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

  struct declared {
    enum class outcome : std::uint8_t {
      done,
      another_type,
      other_buckets,
      too_many
    } what = outcome::done;
    script_metrics::id id = 0;
    http::figure_type type = http::figure_type::counter;  // the existing type, if it differs
  };
  /// `most` is the number of names and figures that the application may have. A histogram counts as
  /// its buckets and two.
  declared declare(std::string_view application, std::string_view name, http::figure_type type,
                   std::string_view help, std::vector<double> buckets, std::size_t most);

  /// Returns false if the limit of figures is reached, which is counted.
  bool add(id of, std::string_view application, const labels& which, double amount,
           std::size_t most);
  bool set(id of, std::string_view application, const labels& which, double value,
           std::size_t most);
  bool observe(id of, std::string_view application, const labels& which, double value,
               std::size_t most);

  [[nodiscard]] std::vector<http::figure_family> figures() const;

 private:
  struct series {
    double value = 0;
    std::uint64_t count = 0;
    std::vector<std::uint64_t> buckets;  // each excludes the lower ones
  };
  struct family {
    std::string name;
    std::string help;
    http::figure_type type = http::figure_type::counter;
    std::vector<double> buckets;
    std::map<std::string, std::map<labels, series>, std::less<>> of;  // by application
  };
  struct usage {
    std::size_t used = 0;
    std::uint64_t dropped = 0;
  };

  // Requires the mutex. Returns null if the limit of figures is reached.
  series* at(id of, std::string_view application, const labels& which, std::size_t most);

  mutable mutex mutex_;  // guards the members below
  std::vector<family> families_;
  std::map<std::string, id, std::less<>> names_;
  std::map<std::string, usage, std::less<>> usage_;
};

}  // namespace troupe::lua::detail
