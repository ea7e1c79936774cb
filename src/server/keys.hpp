// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <troupe/server/configuration.hpp>

#include "setting.hpp"

namespace troupe::server::detail {

/// Of the whole file, without applications.
[[nodiscard]] const std::vector<setting<configuration>>& server_keys();

/// Of one table [applications.NAME]. The names are those in it.
[[nodiscard]] const std::vector<setting<served_application>>& application_keys();

/// What is not said otherwise.
[[nodiscard]] served_application application_named(std::string name);

/// Letters, digits, '-' and '_', at most 64; the first is a letter or a digit.
[[nodiscard]] bool is_application_name(std::string_view name) noexcept;

/// A folder with main.lua, or a file of Lua.
[[nodiscard]] bool is_application(const std::filesystem::path& path);

}  // namespace troupe::server::detail
