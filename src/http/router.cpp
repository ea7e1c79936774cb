// SPDX-License-Identifier: Apache-2.0

#include "router.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe::http::detail {
namespace {

void expect_slash(const std::string& path) {
  if (!path.starts_with('/')) {
    throw std::invalid_argument("route \"" + path + "\": a path begins with a slash");
  }
}

}  // namespace

const handler* route::find(std::string_view method_name) const noexcept {
  const auto named = [&](std::string_view name) {
    return std::find_if(methods.begin(), methods.end(),
                        [name](const method& m) { return m.name == name; });
  };
  auto found = named(method_name);
  if (found == methods.end() && method_name == "HEAD") found = named("GET");
  return found == methods.end() ? nullptr : &found->answer;
}

std::string route::allowed() const {
  std::vector<std::string_view> names;
  for (const method& m : methods) names.push_back(m.name);
  if (content || session) names.push_back("GET");
  if (content || find("GET") != nullptr) names.push_back("HEAD");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string result;
  for (const std::string_view name : names) {
    if (!result.empty()) result += ", ";
    result += name;
  }
  return result;
}

route& router::at(std::string path) {
  expect_slash(path);
  return routes_[std::move(path)];
}

void router::add_files(std::string prefix, const std::filesystem::path& directory) {
  expect_slash(prefix);
  if (!prefix.ends_with('/')) prefix += '/';
  file_root root{directory};
  const auto shorter = std::find_if(mounts_.begin(), mounts_.end(), [&](const mount& m) {
    return m.prefix.size() < prefix.size();
  });
  mounts_.insert(shorter, mount{std::move(prefix), std::move(root)});
}

const route* router::find(std::string_view path) const {
  const auto found = routes_.find(path);
  return found == routes_.end() ? nullptr : &found->second;
}

const mount* router::find_files(std::string_view path) const {
  for (const mount& m : mounts_) {
    const std::string_view without_slash =
        std::string_view{m.prefix}.substr(0, m.prefix.size() - 1);
    if (path.starts_with(m.prefix) || (path == without_slash && !path.empty())) return &m;
  }
  return nullptr;
}

}  // namespace troupe::http::detail
