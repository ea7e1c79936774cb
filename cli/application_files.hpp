// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::cli {

struct application_file {
  std::string name;
  std::string_view text;  // @NAME@ stands for the application's name
};

/// The files of a new application of that kind.
[[nodiscard]] std::vector<application_file> application_files(std::string_view kind);

}  // namespace troupe::cli
