// SPDX-License-Identifier: Apache-2.0

#include "router.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

// RFC 9110, 9.1, and RFC 5789.
constexpr std::array<std::string_view, 9> known_methods{
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};

void expect_method(std::string_view method, std::string_view path) {
  const bool has_small_letters =
      std::any_of(method.begin(), method.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (is_token(method) && !has_small_letters) return;
  refuse_route(path, "\"" + std::string{method} +
                         "\" is not a method: write a token in capitals, as \"GET\"");
}

// FNV-1a: distinguishes versions of one resource, and nothing more.
std::string etag_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  std::array<char, 32> text;
  const int size =
      std::snprintf(text.data(), text.size(), "\"%016llx\"", static_cast<unsigned long long>(hash));
  return {text.data(), static_cast<std::size_t>(size)};
}

void expect_protocols(const websocket_options& how) {
  for (const std::string& name : how.protocols) {
    if (is_token(name)) continue;
    throw std::invalid_argument("http::websocket_options::protocols: \"" + name +
                                "\" is not a token of HTTP: use letters, digits, '.' and '-'");
  }
  if (how.require_protocol && how.protocols.empty()) {
    throw std::invalid_argument(
        "http::websocket_options::require_protocol: protocols is empty, so no client could "
        "connect");
  }
}

// `here`: the route of this path, or null.
void expect_free_for_handler(const route* here, std::string_view method, std::string_view path) {
  if (here == nullptr) return;
  const std::string name{method};
  const auto same = [&](const route::method& m) { return m.name == method; };
  if (std::any_of(here->methods.begin(), here->methods.end(), same)) {
    refuse_route(path, name + " has a handler already");
  }
  if (here->content && (method == "GET" || method == "HEAD")) {
    refuse_route(path, "a resource() already handles " + name);
  }
  if (here->metrics && (method == "GET" || method == "HEAD")) {
    refuse_route(path, "metrics() responds to " + name + " here already");
  }
}

void expect_free_for_resource(const route* here, std::string_view path) {
  if (here == nullptr) return;
  if (here->content) refuse_route(path, "a resource() exists already");
  if (here->metrics) refuse_route(path, "metrics() responds to GET here already");
  if (here->find("GET") != nullptr || here->find("HEAD") != nullptr) {
    refuse_route(path, "GET has a handler, which would hide the resource()");
  }
}

void expect_free_for_session(const route* here, std::string_view path) {
  if (here != nullptr && here->has_session()) refuse_route(path, "a websocket() exists already");
}

bool is_read_by_get(const route& r) noexcept { return r.content || r.metrics; }

}  // namespace

resource resource::of(std::string content_type, std::string_view bytes) {
  return {std::move(content_type), bytes, etag_of(bytes)};
}

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
  std::vector<std::string_view> names{"OPTIONS"};
  for (const method& m : methods) names.push_back(m.name);
  if (is_read_by_get(*this) || has_session()) names.push_back("GET");
  if (is_read_by_get(*this) || find("GET") != nullptr) names.push_back("HEAD");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string result;
  for (const std::string_view name : names) {
    if (!result.empty()) result += ", ";
    result += name;
  }
  return result;
}

// The route of the same paths. Throws if it has other names for its parameters.
const route* router::find_same(const route_pattern& pattern) const {
  const bool has_parameters = pattern.has_parameters();
  const std::uint32_t found = has_parameters ? tree_.find(pattern) : literals_.find(pattern.text);
  if (found != text_index::none) {
    const route& same = routes_[found];
    if (pattern.has_names_of(same.pattern)) return &same;
    refuse_route(pattern.text, "the route \"" + same.pattern.text +
                                   "\" has the same paths and other names: use the same names");
  }
  if (pattern.ends_with_rest()) {
    if (const std::uint32_t files = tree_.find_files(pattern); files != route_tree::none) {
      refuse_route(pattern.text, "it would hide the files() below \"" + mounts_[files].prefix +
                                     "\": use another path for one of them");
    }
  }
  return nullptr;
}

// find_same() did not throw.
route& router::at(route_pattern&& pattern) {
  const bool has_parameters = pattern.has_parameters();
  const std::uint32_t found = has_parameters ? tree_.find(pattern) : literals_.find(pattern.text);
  if (found != text_index::none) return routes_[found];
  const auto next = static_cast<std::uint32_t>(routes_.size());
  route& made = routes_.emplace_back();
  if (has_parameters) {
    made.parameters = std::make_shared<const route_pattern>(pattern);
    tree_.insert(pattern, next);
  } else {
    literals_.insert(pattern.text, next);
  }
  made.pattern = std::move(pattern);
  return made;
}

void router::add(std::string method, std::string path, route_handler answer) {
  expect_method(method, path);
  if (!answer.call) refuse_route(path, "the handler of " + method + " is empty");
  if (const auto timeout = answer.options.timeout; timeout && timeout->count() <= 0) {
    refuse_route(path, "route_options::timeout of " + method + " must be positive");
  }
  route_pattern pattern = route_pattern::parse(std::move(path));
  expect_free_for_handler(find_same(pattern), method, pattern.text);
  methods_.insert(method);
  if (method == "GET") methods_.insert("HEAD");
  at(std::move(pattern)).methods.push_back({std::move(method), std::move(answer)});
}

void router::add(std::string path, resource content) {
  route_pattern pattern = route_pattern::parse(std::move(path));
  expect_free_for_resource(find_same(pattern), pattern.text);
  methods_.insert({"GET", "HEAD"});
  at(std::move(pattern)).content = std::move(content);
}

void router::add(std::string path, session_factory session, websocket_options how) {
  add_session(std::move(path), std::move(session), {}, std::move(how));
}

void router::add(std::string path, session_maker session, websocket_options how) {
  add_session(std::move(path), {}, std::move(session), std::move(how));
}

void router::add_session(std::string path, session_factory session, session_maker unbound,
                         websocket_options&& how) {
  expect_protocols(how);
  route_pattern pattern = route_pattern::parse(std::move(path));
  expect_free_for_session(find_same(pattern), pattern.text);
  methods_.insert("GET");
  route& here = at(std::move(pattern));
  here.session = std::move(session);
  here.unbound_session = std::move(unbound);
  here.protocols = std::move(how.protocols);
  here.requires_protocol = how.require_protocol;
  here.kept_headers = std::move(how.kept_headers);
}

void router::expect_free_for_metrics(std::string_view path) const {
  const route* const here = find_same(route_pattern::parse(std::string{path}));
  if (here == nullptr) return;
  if (here->metrics) refuse_route(path, "there are metrics() already");
  if (here->content) refuse_route(path, "there is a resource(), which answers GET");
  if (here->find("GET") != nullptr || here->find("HEAD") != nullptr) {
    refuse_route(path, "GET has a handler already");
  }
}

void router::add(std::string path, ref<metrics_maker> metrics) {
  expect_free_for_metrics(path);
  methods_.insert({"GET", "HEAD"});
  at(route_pattern::parse(std::move(path))).metrics = std::move(metrics);
}

void router::expect_free_for_files(const route_pattern& prefix) const {
  if (tree_.find_files(prefix) != route_tree::none) {
    refuse_route(prefix.text, "files() exist already for this prefix");
  }
  if (const std::uint32_t rest = tree_.find_rest(prefix); rest != route_tree::none) {
    refuse_route(prefix.text, "the route \"" + routes_[rest].pattern.text +
                                  "\" would hide these files(): use another path for one of them");
  }
}

void router::insert_files(route_pattern&& prefix, std::shared_ptr<const file_root> root) {
  methods_.insert({"GET", "HEAD"});
  tree_.insert_files(prefix, static_cast<std::uint32_t>(mounts_.size()));
  mounts_.push_back({std::move(prefix.text), std::move(root)});
}

void router::add_files(std::string prefix, const std::filesystem::path& directory) {
  route_pattern pattern = route_pattern::parse_prefix(std::move(prefix));
  expect_free_for_files(pattern);
  insert_files(std::move(pattern), std::make_shared<const file_root>(directory));
}

void router::add_all(std::string_view prefix, const router& of, const binding& bind) {
  // Everything is checked first, so that nothing is added if a part is refused.
  std::vector<route_pattern> patterns;
  for (const route& each : of.routes_) {
    route_pattern pattern = route_pattern::parse(mounted_path(prefix, each.pattern.text));
    const route* const here = find_same(pattern);
    for (const route::method& m : each.methods) {
      expect_free_for_handler(here, m.name, pattern.text);
    }
    if (each.content) expect_free_for_resource(here, pattern.text);
    if (each.has_session()) expect_free_for_session(here, pattern.text);
    patterns.push_back(std::move(pattern));
  }
  std::vector<route_pattern> prefixes;
  for (const mount& each : of.mounts_) {
    prefixes.push_back(route_pattern::parse_prefix(mounted_path(prefix, each.prefix)));
    expect_free_for_files(prefixes.back());
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const route& each = of.routes_[i];
    route& here = at(std::move(patterns[i]));
    here.methods.insert(here.methods.end(), each.methods.begin(), each.methods.end());
    if (each.content) here.content = each.content;
    if (!each.has_session()) continue;
    if (bind) {
      here.session = bind(each.unbound_session);
    } else {
      here.unbound_session = each.unbound_session;
    }
    here.protocols = each.protocols;
    here.requires_protocol = each.requires_protocol;
    here.kept_headers = each.kept_headers;
  }
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    insert_files(std::move(prefixes[i]), of.mounts_[i].root);
  }
  methods_.insert(of.methods_.begin(), of.methods_.end());
}

router::match router::find(std::string_view path, std::string_view sent) const {
  if (const std::uint32_t found = literals_.find(path); found != text_index::none) {
    return {.at = &routes_[found]};
  }
  const route_tree::found found = tree_.match(path, sent);
  if (found.value != route_tree::none && !found.is_files) return {.at = &routes_[found.value]};
  // For files, an escaped slash is a slash.
  const std::uint32_t files = sent.empty() ? found.value : tree_.match_files(path);
  return {.files = files == route_tree::none ? nullptr : &mounts_[files]};
}

bool router::knows(std::string_view method) const noexcept {
  return std::find(known_methods.begin(), known_methods.end(), method) != known_methods.end() ||
         methods_.contains(method);
}

std::string router::allowed() const {
  std::set<std::string_view> names{"OPTIONS"};
  names.insert(methods_.begin(), methods_.end());
  std::string all;
  for (const std::string_view each : names) all.append(all.empty() ? "" : ", ").append(each);
  return all;
}

std::vector<route_entry> router::entries() const {
  using kind = route_entry::kind;
  std::vector<route_entry> all;
  for (const route& each : routes_) {
    const auto add = [&](std::string method, kind is) {
      all.push_back({.method = std::move(method), .pattern = each.pattern.text, .what = is});
    };
    for (const route::method& m : each.methods) add(m.name, kind::route);
    if (each.content) add("GET", kind::resource);
    if (each.metrics) add("GET", kind::metrics);
    if (each.has_session()) add("GET", kind::websocket);
  }
  for (const mount& each : mounts_) {
    all.push_back({.method = "GET", .pattern = each.prefix, .what = kind::files});
  }
  std::sort(all.begin(), all.end(), [](const route_entry& a, const route_entry& b) {
    return std::tie(a.pattern, a.method, a.what) < std::tie(b.pattern, b.method, b.what);
  });
  return all;
}

}  // namespace troupe::http::detail
