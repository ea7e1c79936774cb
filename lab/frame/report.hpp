// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/frame/host.hpp"
#include "lab/frame/measuring.hpp"

namespace troupe::lab {

/// Prints a table for each metric that the experiment reports, with the published figures, then one
/// with the operating system's figures. A median of values that vary too much is marked, see
/// is_noisy(). With `against`, a column has the medians divided by that engine's.
void print_report(std::ostream& out, const measurements& found,
                  const std::vector<published>& figures, std::string_view against = {});

/// Returns a published figure as in a table: "44.3 M", or "44.3 M – 50.1 M" for a range.
std::string published_text(const published& of, const std::string& unit);

/// Returns a median as in a table: "44.3 M", or "~44.3 M" if it varies too much.
std::string marked_median(const series& of);

/// Explains "~", if a median is marked.
void print_legend(std::ostream& out, const measurements& found);

/// Prints one line about the host and one about the program.
void print_host(std::ostream& out, const host& where);

/// Prints the notes of the runs, the answer if there is one, and the failures.
void print_remarks(std::ostream& out, const measurements& found, const std::string& answer = {});

/// Returns the object of --json.
nlohmann::ordered_json json_of(const std::string& name, const host& where,
                               const nlohmann::ordered_json& options, const measurements& found,
                               const std::string& answer = {});
nlohmann::ordered_json json_of(const sizes& chosen);

/// The destination of the object of --json: a file, stdout if it is "-", nothing if it is empty.
/// The file is opened at once, so that an error is found before the measurements.
///
/// Errors: std::runtime_error if it cannot be written.
class json_target {
 public:
  explicit json_target(const std::string& file);

  bool wanted() const { return !file_.empty(); }

  /// Returns the stream for the text for users: stderr if the object goes to stdout.
  std::ostream& text() const;

  void write(const nlohmann::ordered_json& what);

 private:
  std::string file_;
  std::ofstream out_;
};

/// Returns the parts that are not empty, separated by ", ".
std::string join(const std::vector<std::string>& parts);

/// Returns, for example, "workers 2, messages 10 M".
std::string text_of(const sizes& chosen);

}  // namespace troupe::lab
