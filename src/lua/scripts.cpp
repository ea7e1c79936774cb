// SPDX-License-Identifier: Apache-2.0

#include "scripts.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>
#include <utility>

#include <troupe/lua/application.hpp>

namespace troupe::lua::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t script_bytes_max = 4 * 1024 * 1024;

constexpr std::size_t module_name_max = 256;

bool is_module_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (name.size() > module_name_max) return false;
  bool after_letter = false;
  for (const char c : name) {
    if (c == '.' ? !after_letter : !is_letter(c)) return false;
    after_letter = c != '.';
  }
  return after_letter;
}

constexpr std::uint64_t no_file = 0;

// Changes when the file is written, or replaced by one with another time or size.
std::uint64_t stamp_of(const fs::path& file) {
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  if (error) return no_file;
  const auto bytes = fs::file_size(file, error);
  if (error) return no_file;
  const auto time = static_cast<std::uint64_t>(written.time_since_epoch().count());
  return std::max<std::uint64_t>(time * 0x9e3779b97f4a7c15 ^ bytes, no_file + 1);
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

std::vector<fs::path> script_folder::candidates(std::string_view module) const {
  if (!is_module_name(module)) {
    throw application_error("'" + std::string(module.substr(0, module_name_max)) +
                            "' is not a valid module name; allowed are at most 256 letters, "
                            "digits, '_' and '-', with dots "
                            "between folders");
  }
  std::string relative(module);
  std::replace(relative.begin(), relative.end(), '.', '/');
  return {folder_ / (relative + ".lua"), folder_ / relative / "init.lua"};
}

script_text script_folder::read(const fs::path& file) const {
  const std::string name = (folder_.filename() / file.lexically_relative(folder_)).string();
  std::error_code error;
  const fs::path there = fs::canonical(file, error);
  if (error) throw application_error("'" + file.string() + "' cannot be read: " + error.message());
  const auto leaves = std::mismatch(folder_.begin(), folder_.end(), there.begin(), there.end());
  if (leaves.first != folder_.end()) {
    throw application_error("'" + name + "' is a link to outside of the application's folder");
  }
  const auto bytes = fs::file_size(there, error);
  if (!error && bytes > script_bytes_max) {
    throw application_error(name + " has " + std::to_string(bytes) + " bytes; allowed are " +
                            std::to_string(script_bytes_max));
  }
  if (error || !fs::is_regular_file(there, error)) {
    throw application_error("'" + file.string() + "' is not a readable file");
  }
  try {
    std::ifstream in(there, std::ios::binary);
    script_text got{name, std::string(std::istreambuf_iterator<char>(in), {})};
    if (in) return got;
  } catch (const std::ios_base::failure&) {
  }
  throw application_error("'" + file.string() + "' cannot be read");
}

// ── A version ─────────────────────────────────────────────────────────────────────────────────

// Each file's stamp is taken before the file is read, so a write in between counts as a change.
script_version::script_version(script_folder from)
    : folder_(std::move(from)), files_{{folder_.main(), stamp_of(folder_.main())}} {
  try {
    main_ = folder_.read(folder_.main());
  } catch (const application_error& e) {
    main_problem_ = e.what();
  }
}

const script_text& script_version::main() const {
  if (!main_) throw application_error(main_problem_);
  return *main_;
}

const script_text* script_version::module(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  auto found = modules_.find(name);
  if (found == modules_.end()) {
    std::optional<script_text> text;
    if (missing_ == missing_max) {
      throw application_error("module '" + std::string(name) + "': " + std::to_string(missing_max) +
                              " missing modules were required already, which is the limit");
    }
    for (const fs::path& candidate : folder_.candidates(name)) {
      const auto stamp = files_.try_emplace(candidate, stamp_of(candidate)).first->second;
      if (stamp == no_file) continue;
      text = folder_.read(candidate);
      break;
    }
    if (!text) ++missing_;
    found = modules_.emplace(name, std::move(text)).first;
  }
  return found->second ? &*found->second : nullptr;
}

bool script_version::is_outdated() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(files_.begin(), files_.end(),
                     [](const auto& one) { return stamp_of(one.first) != one.second; });
}

}  // namespace troupe::lua::detail
