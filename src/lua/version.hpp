// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <troupe/lua/limits.hpp>

#include "scripts.hpp"

namespace troupe::lua::detail {

/// What programs of an application are made of. It never changes; an upgrade makes another one.
struct application_version {
  /// Reads main.lua. Errors: application_error.
  application_version(unsigned its_number, const std::filesystem::path& from,
                      const lua::limits& allowed, std::string configuration)
      : number(its_number), scripts(from), limits(allowed), config(std::move(configuration)) {}

  const unsigned number;  // from 1 on, in the order in which they were made
  const script_version scripts;
  const lua::limits limits;
  const std::string config;  // JSON
};

}  // namespace troupe::lua::detail
