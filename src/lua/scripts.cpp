// SPDX-License-Identifier: Apache-2.0

#include "scripts.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>
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

constexpr std::uint64_t no_file = 0;

// Another one when the file has been written, or replaced by one of another time or size.
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
    throw application_error(
        "'" + std::string(module) +
        "' is no name of a module; letters, digits, '_' and '-', with dots between folders");
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
    throw application_error("'" + name + "' is a link out of the application's folder");
  }
  const auto bytes = fs::file_size(there, error);
  if (!error && bytes > script_bytes_max) {
    throw application_error(name + " has " + std::to_string(bytes) + " bytes; allowed are " +
                            std::to_string(script_bytes_max));
  }
  std::ifstream in(there, std::ios::binary);
  script_text got{name, std::string(std::istreambuf_iterator<char>(in), {})};
  if (error || !in) throw application_error("'" + file.string() + "' cannot be read");
  return got;
}

// ── A version ─────────────────────────────────────────────────────────────────────────────────

// Each file's stamp is taken before it is read: what is written meanwhile is seen as a change.
script_version::script_version(const fs::path& from)
    : folder_(from),
      files_{{folder_.main(), stamp_of(folder_.main())}},
      main_(folder_.read(folder_.main())) {}

const script_text* script_version::module(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  auto found = modules_.find(name);
  if (found == modules_.end()) {
    std::optional<script_text> text;
    for (const fs::path& candidate : folder_.candidates(name)) {
      files_.push_back({candidate, stamp_of(candidate)});
      if (files_.back().stamp == no_file) continue;
      text = folder_.read(candidate);
      break;
    }
    found = modules_.emplace(name, std::move(text)).first;
  }
  return found->second ? &*found->second : nullptr;
}

bool script_version::is_outdated() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(files_.begin(), files_.end(),
                     [](const seen& one) { return stamp_of(one.file) != one.stamp; });
}

}  // namespace troupe::lua::detail
