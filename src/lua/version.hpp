// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <troupe/lua/limits.hpp>

#include "scripts.hpp"

namespace troupe::lua::detail {

/// The source of the programs of an application. It is immutable; an upgrade makes another one.
struct application_version {
  application_version(unsigned its_number, const script_folder& from, const lua::limits& allowed,
                      std::string configuration)
      : number(its_number), scripts(from), limits(allowed), config(std::move(configuration)) {}

  const unsigned number;  // from 1, in order of creation
  const script_version scripts;
  const lua::limits limits;
  const std::string config;  // JSON
};

}  // namespace troupe::lua::detail
