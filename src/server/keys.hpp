// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <troupe/server/configuration.hpp>

#include "setting.hpp"

namespace troupe::server::detail {

/// The keys of the file outside its application tables.
[[nodiscard]] const std::vector<setting<configuration>>& server_keys();

/// The keys of one table [applications.NAME]. Their names are relative to it.
[[nodiscard]] const std::vector<setting<served_application>>& application_keys();

/// An application with all defaults.
[[nodiscard]] served_application application_named(std::string name);

/// Returns true for letters, digits, '-' and '_', at most 64, of which the first is a letter or a
/// digit.
[[nodiscard]] bool is_application_name(std::string_view name) noexcept;

/// Returns true for a folder with main.lua, or a Lua file.
[[nodiscard]] bool is_application(const std::filesystem::path& path);

}  // namespace troupe::server::detail
