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

/// For each metric that the experiment reports a table with what was published; then one of what the
/// operating system says. A median of values that vary too much is marked, see is_noisy(). With `against`, a
/// column has the medians divided by that engine's.
void print_report(std::ostream& out, const measurements& found,
                  const std::vector<published>& figures, std::string_view against = {});

/// A median as it stands in a table: "44.3 M", or "~44.3 M" where it varies too much.
std::string marked_median(const series& of);

/// What "~" means, if there is one.
void print_legend(std::ostream& out, const measurements& found);

/// One line about the machine and one about the program.
void print_host(std::ostream& out, const host& where);

/// The notes of the runs, the answer if there is one, and what has failed.
void print_remarks(std::ostream& out, const measurements& found, const std::string& answer = {});

/// The one object of --json.
nlohmann::ordered_json json_of(const std::string& name, const host& where,
                               const nlohmann::ordered_json& options, const measurements& found,
                               const std::string& answer = {});
nlohmann::ordered_json json_of(const sizes& chosen);

/// Where the object of --json goes: a file, stdout if it is "-", nowhere if it is empty. The file is
/// opened at once, so that nobody measures for minutes in vain.
///
/// Errors: std::runtime_error if it cannot be written.
class json_target {
 public:
  explicit json_target(const std::string& file);

  bool wanted() const { return !file_.empty(); }

  /// What is for people: stderr if the object goes to stdout.
  std::ostream& text() const;

  void write(const nlohmann::ordered_json& what);

 private:
  std::string file_;
  std::ofstream out_;
};

/// The parts that are not empty, with ", " between them.
std::string join(const std::vector<std::string>& parts);

/// "workers 2, messages 10 M"
std::string text_of(const sizes& chosen);

}  // namespace troupe::lab
