// SPDX-License-Identifier: Apache-2.0

#include "router.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

// RFC 9110, 9.1, and RFC 5789.
constexpr std::array<std::string_view, 9> known_methods{
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};

[[noreturn]] void refuse(std::string_view path, std::string_view why) {
  throw std::invalid_argument("http::server: route \"" + std::string{path} +
                              "\": " + std::string{why});
}

// Paths are compared literally with the decoded path of a request, so these could never match.
void expect_path(std::string_view path) {
  if (!path.starts_with('/')) refuse(path, "a path must begin with a slash");
  if (path.find_first_of("{}*") != std::string_view::npos) {
    refuse(path,
           "a path must not contain parameters or wildcards: use files() for a prefix, or a query");
  }
  if (path.find_first_of("?#") != std::string_view::npos) {
    refuse(path, "a path must not contain a query or a fragment");
  }
  for (std::size_t i = path.find('%'); i != std::string_view::npos && path.size() - i > 2;
       i = path.find('%', i + 1)) {
    if (hex_digit(path[i + 1]) >= 0 && hex_digit(path[i + 2]) >= 0) {
      refuse(path,
             "a path is compared with the decoded path of a request: write it without escapes");
    }
  }
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      refuse(path, "a path must not contain control characters");
    }
  }
}

void expect_method(std::string_view method, std::string_view path) {
  const bool has_small_letters =
      std::any_of(method.begin(), method.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (is_token(method) && !has_small_letters) return;
  refuse(path,
         "\"" + std::string{method} + "\" is not a method: write a token in capitals, as \"GET\"");
}

}  // namespace

const route_handler* route::find(std::string_view method_name) const noexcept {
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
  if (content || session || metrics) names.push_back("GET");
  if (content || metrics || find("GET") != nullptr) names.push_back("HEAD");
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
  expect_path(path);
  return routes_[std::move(path)];
}

void router::add(std::string method, std::string path, route_handler answer) {
  expect_method(method, path);
  if (!answer.call) refuse(path, "the handler of " + method + " is empty");
  route& here = at(path);
  const auto same = [&](const route::method& m) { return m.name == method; };
  if (std::any_of(here.methods.begin(), here.methods.end(), same)) {
    refuse(path, method + " has a handler already");
  }
  if (here.content && (method == "GET" || method == "HEAD")) {
    refuse(path, "a resource() already handles " + method);
  }
  if (here.metrics && (method == "GET" || method == "HEAD")) {
    refuse(path, "metrics() responds to " + method + " here already");
  }
  here.methods.push_back({std::move(method), std::move(answer)});
}

void router::add(std::string path, resource content) {
  route& here = at(path);
  if (here.content) refuse(path, "a resource() exists already");
  if (here.metrics) refuse(path, "metrics() responds to GET here already");
  if (here.find("GET") != nullptr || here.find("HEAD") != nullptr) {
    refuse(path, "GET has a handler, which would hide the resource()");
  }
  here.content = std::move(content);
}

void router::add(std::string path, session_factory session, websocket_options how) {
  route& here = at(path);
  if (here.session) refuse(path, "a websocket() exists already");
  here.session = std::move(session);
  here.protocols = std::move(how.protocols);
  here.requires_protocol = how.require_protocol;
  here.kept_headers = std::move(how.kept_headers);
}

void router::expect_free_for_metrics(std::string_view path) const {
  expect_path(path);
  const route* const here = find(path);
  if (here == nullptr) return;
  if (here->metrics) refuse(path, "there are metrics() already");
  if (here->content) refuse(path, "there is a resource(), which answers GET");
  if (here->find("GET") != nullptr || here->find("HEAD") != nullptr) {
    refuse(path, "GET has a handler already");
  }
}

void router::add(std::string path, ref<metrics_maker> metrics) {
  expect_free_for_metrics(path);
  at(std::move(path)).metrics = std::move(metrics);
}

void router::add_files(std::string prefix, const std::filesystem::path& directory) {
  expect_path(prefix);
  if (!prefix.ends_with('/')) prefix += '/';
  for (const mount& m : mounts_) {
    if (m.prefix == prefix) refuse(prefix, "files() exist already for this prefix");
  }
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

bool router::knows(std::string_view method) const noexcept {
  if (std::find(known_methods.begin(), known_methods.end(), method) != known_methods.end()) {
    return true;
  }
  return std::any_of(routes_.begin(), routes_.end(),
                     [&](const auto& one) { return one.second.find(method) != nullptr; });
}

std::string router::allowed() const {
  std::set<std::string, std::less<>> names{"OPTIONS"};
  for (const auto& [path, each] : routes_) {
    for_each_element(each.allowed(), [&](std::string_view name) { names.emplace(name); });
  }
  if (!mounts_.empty()) names.insert({"GET", "HEAD"});
  std::string all;
  for (const std::string& each : names) all.append(all.empty() ? "" : ", ").append(each);
  return all;
}

}  // namespace troupe::http::detail
