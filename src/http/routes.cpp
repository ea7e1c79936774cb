// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/routes.hpp>

#include <stdexcept>
#include <utility>

#include "router.hpp"
#include "target.hpp"

namespace troupe::http {

std::string to_string(const std::vector<route_entry>& all) {
  std::string line;
  for (const route_entry& each : all) {
    if (!line.empty()) line += ", ";
    line.append(each.method).append(" ").append(each.pattern);
    switch (each.what) {
      case route_entry::kind::route:
        break;
      case route_entry::kind::resource:
        line += " (resource)";
        break;
      case route_entry::kind::websocket:
        line += " (websocket)";
        break;
      case route_entry::kind::metrics:
        line += " (metrics)";
        break;
      case route_entry::kind::files:
        line += " (files)";
        break;
    }
  }
  return line;
}

routes::routes() : router_(std::make_unique<detail::router>()) {}
routes::routes(routes&&) noexcept = default;
routes& routes::operator=(routes&&) noexcept = default;
routes::~routes() = default;

void routes::route(std::string method, std::string path, handler answer, route_options how) {
  router_->add(std::move(method), std::move(path), {std::move(answer), how});
}

void routes::files(std::string prefix, const std::filesystem::path& directory) {
  router_->add_files(std::move(prefix), directory);
}

void routes::resource(std::string path, std::string content_type, std::string_view bytes) {
  router_->add(std::move(path), detail::resource::of(std::move(content_type), bytes));
}

void routes::add_websocket(std::string path, websocket_options how, detail::session_maker make) {
  router_->add(std::move(path), std::move(make), std::move(how));
}

void routes::mount(std::string_view prefix, const routes& of) {
  router_->add_all(prefix, *of.router_);
}

std::vector<route_entry> routes::entries() const { return router_->entries(); }

std::string routes::pattern_of(std::string_view target) const {
  const auto where = detail::parse_target(target);
  if (!where) {
    throw std::invalid_argument("http::routes::pattern_of(): \"" + std::string{target} +
                                "\" is not a target: write a path as a client sends it");
  }
  const detail::router::match found = router_->find(where->path, where->sent_path);
  if (found.files != nullptr) return found.files->prefix;
  return found.at == nullptr ? std::string{} : found.at->pattern.text;
}

}  // namespace troupe::http
