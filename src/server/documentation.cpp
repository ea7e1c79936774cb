// SPDX-License-Identifier: Apache-2.0

// The descriptions of the keys, for readers that do not set them: the page that lists them, and a
// server that reads its configuration again.

#include <algorithm>

#include <troupe/server/configuration.hpp>

#include "keys.hpp"

namespace troupe::server {
namespace {

template <class Owner>
void document(const std::vector<detail::setting<Owner>>& keys, const Owner& initially,
              const std::string& before, std::vector<documented_key>& into) {
  for (const auto& each : keys) {
    into.push_back({before + each.name, each.required ? "required" : each.get(initially),
                    each.allowed, each.reloads});
  }
}

template <class Owner>
void compare(const std::vector<detail::setting<Owner>>& keys, const Owner& before, const Owner& now,
             const std::string& prefix, std::vector<difference>& into) {
  for (const auto& each : keys) {
    std::string was = each.get(before), is = each.get(now);
    if (was != is)
      into.push_back({prefix + each.name, std::move(was), std::move(is), each.reloads});
  }
}

const served_application* find(const configuration& in, const std::string& name) {
  const auto found =
      std::find_if(in.applications.begin(), in.applications.end(),
                   [&](const served_application& each) { return each.options.name == name; });
  return found == in.applications.end() ? nullptr : &*found;
}

}  // namespace

std::vector<documented_key> all_keys() {
  std::vector<documented_key> all;
  document(detail::server_keys(), configuration{}, "", all);
  document(detail::application_keys(), detail::application_named("NAME"), "applications.NAME.",
           all);
  return all;
}

std::vector<difference> differences(const configuration& before, const configuration& now) {
  std::vector<difference> all;
  compare(detail::server_keys(), before, now, "", all);
  for (const served_application& was : before.applications) {
    const std::string name = "applications." + was.options.name;
    if (const served_application* is = find(now, was.options.name)) {
      compare(detail::application_keys(), was, *is, name + ".", all);
    } else {
      all.push_back({name, "served", "gone", false});
    }
  }
  for (const served_application& is : now.applications) {
    if (find(before, is.options.name) == nullptr) {
      all.push_back({"applications." + is.options.name, "not served", "there", false});
    }
  }
  return all;
}

}  // namespace troupe::server
