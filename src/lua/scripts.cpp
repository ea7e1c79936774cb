// SPDX-License-Identifier: Apache-2.0

#include "scripts.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>

#include <troupe/lua/application.hpp>

namespace troupe::lua::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t script_bytes_max = 4 * 1024 * 1024;

bool is_module_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  bool after_letter = false;
  for (const char c : name) {
    if (c == '.' ? !after_letter : !is_letter(c)) return false;
    after_letter = c != '.';
  }
  return after_letter;
}

}  // namespace

script_folder::script_folder(const fs::path& from) {
  std::error_code error;
  const fs::path there = fs::canonical(from, error);
  if (error) {
    throw application_error("'" + from.string() + "' cannot be read: " + error.message());
  }
  const bool is_folder = fs::is_directory(there, error);
  folder_ = is_folder ? there : there.parent_path();
  main_ = is_folder ? there / "main.lua" : there;
  if (is_folder && !fs::exists(main_, error)) {
    throw application_error("'" + from.string() + "' has no main.lua");
  }
  if (!is_folder && there.extension() != ".lua") {
    throw application_error("'" + from.string() + "' is neither a folder nor a .lua file");
  }
}

std::optional<script_text> script_folder::module(std::string_view name) const {
  if (!is_module_name(name)) {
    throw application_error(
        "'" + std::string(name) +
        "' is no name of a module; letters, digits, '_' and '-', with dots between folders");
  }
  std::string relative(name);
  std::replace(relative.begin(), relative.end(), '.', '/');
  for (const std::string& candidate : {relative + ".lua", relative + "/init.lua"}) {
    std::error_code error;
    const fs::path there = fs::canonical(folder_ / candidate, error);
    if (error) continue;
    const auto leaves = std::mismatch(folder_.begin(), folder_.end(), there.begin(), there.end());
    if (leaves.first != folder_.end()) {
      throw application_error("the module '" + std::string(name) +
                              "' is a link out of the application's folder");
    }
    return read(there);
  }
  return std::nullopt;
}

script_text script_folder::read(const fs::path& file) const {
  const std::string name = (folder_.filename() / file.lexically_relative(folder_)).string();
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  if (!error && bytes > script_bytes_max) {
    throw application_error(name + " has " + std::to_string(bytes) + " bytes; allowed are " +
                            std::to_string(script_bytes_max));
  }
  std::ifstream in(file, std::ios::binary);
  script_text got{name, std::string(std::istreambuf_iterator<char>(in), {})};
  if (error || !in) throw application_error("'" + file.string() + "' cannot be read");
  return got;
}

}  // namespace troupe::lua::detail
