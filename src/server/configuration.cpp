// SPDX-License-Identifier: Apache-2.0
#include <troupe/server/configuration.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/nearest.hpp"
#include "keys.hpp"

namespace troupe::server {
namespace {

using detail::in_quotes;
using detail::refuse_at;
using detail::setting;
using detail::value;

// The keys of the table whose names begin with `prefix`.
template <class Owner>
std::vector<std::string> names_in(const std::vector<setting<Owner>>& keys,
                                  std::string_view prefix) {
  std::vector<std::string> names;
  for (const auto& each : keys) {
    if (!each.name.starts_with(prefix)) continue;
    std::string name = each.name.substr(prefix.size());
    name.resize(std::min(name.size(), name.find('.')));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// A property that two applications claim and only one can have.
struct clash {
  std::string application;  // the second claimant
  std::string key;
  std::string text;
};

class claims {
 public:
  // The application that has claimed it already, if there is one.
  std::optional<clash> claim(const std::string& what, const std::string& application,
                             const std::string& key) {
    const std::string name = application.empty() ? key : "applications." + application + "." + key;
    const auto [at, is_new] = owners_.emplace(what, name);
    if (is_new) return std::nullopt;
    return clash{application, key,
                 name + " is " + in_quotes(what) + ", and so is " + at->second + "; change one"};
  }

 private:
  std::map<std::string, std::string> owners_;
};

std::optional<clash> find_clash(const configuration& in) {
  claims names, routes, folders;
  const std::pair<const char*, const std::string*> own[] = {{"admin.health", &in.admin.health},
                                                            {"admin.ready", &in.admin.ready},
                                                            {"admin.metrics", &in.admin.metrics}};
  for (const auto& [key, path] : own) {
    if (path->empty()) continue;
    if (auto found = routes.claim(*path, "", key)) return found;
  }
  for (const served_application& each : in.applications) {
    const std::string& name = each.options.name;
    if (auto found = names.claim(name, name, "name")) return found;
    if (auto found = routes.claim(each.route, name, "route")) return found;
    if (each.files.empty()) continue;
    const std::string& at = each.files_route;
    if (auto found = folders.claim(at.ends_with('/') ? at : at + "/", name, "files_route")) {
      return found;
    }
  }
  return std::nullopt;
}

struct renamed_key {
  std::string_view before;
  std::string_view now;
};

// The names of keys in earlier versions, in any table. The error for an old name gives the new one.
constexpr std::array<renamed_key, 11> renamed_keys{{
    {"handshake_time", "handshake_timeout"},
    {"request_time", "request_timeout"},
    {"idle_time", "idle_timeout"},
    {"close_time", "close_timeout"},
    {"unready_time", "unready_delay"},
    {"drain_time", "drain_timeout"},
    {"stop_time", "stop_timeout"},
    {"run_time", "run_timeout"},
    {"upgrade_time", "upgrade_timeout"},
    {"search_rounds", "spin_rounds"},
    {"when_full", "on_full"},
}};

// Reads the TOML tree of one file into a configuration.
class reader {
 public:
  explicit reader(const std::filesystem::path& file) : file_(file) {}

  configuration read(const toml::table& root) const {
    configuration into;
    into.file = file_;
    const toml::node* applications = nullptr;
    for (const auto& [key, node] : root) {
      if (key.str() == "applications") {
        applications = &node;
      } else {
        read_key(into, detail::server_keys(), "", "", key, node);
      }
    }
    check_tls(into.http.tls, root);
    check_rates(into.http.limits, root);
    if (applications != nullptr) read_applications(into, *applications);
    return into;
  }

 private:
  // `before` is the full name of the table that `keys` belong to; `prefix` is the part of the name
  // within that table.
  template <class Owner>
  void read_key(Owner& into, const std::vector<setting<Owner>>& keys, const std::string& before,
                const std::string& prefix, const toml::key& key, const toml::node& node) const {
    const std::string name = prefix + std::string(key.str());
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const auto& each) { return each.name == name; });
    if (found != keys.end()) return found->set(into, value(file_, before + name, node));
    const std::vector<std::string> inside = names_in(keys, name + ".");
    if (inside.empty()) return refuse_unknown(key, before + prefix, names_here(keys, prefix));
    const toml::table* const table = node.as_table();
    if (table == nullptr) value(file_, before + name, node).refuse("tables");
    for (const auto& [next, each] : *table) {
      read_key(into, keys, before, name + ".", next, each);
    }
  }

  template <class Owner>
  static std::vector<std::string> names_here(const std::vector<setting<Owner>>& keys,
                                             const std::string& prefix) {
    std::vector<std::string> names = names_in(keys, prefix);
    if (std::is_same_v<Owner, configuration> && prefix.empty()) names.emplace_back("applications");
    return names;
  }

  [[noreturn]] void refuse_unknown(const toml::key& key, const std::string& prefix,
                                   const std::vector<std::string>& names) const {
    const std::string nearest = troupe::detail::nearest(key.str(), names);
    std::string text = "unknown key " + in_quotes(prefix + std::string(key.str())) + "; ";
    const auto renamed =
        std::find_if(renamed_keys.begin(), renamed_keys.end(), [&](const renamed_key& each) {
          return each.before == key.str() &&
                 std::find(names.begin(), names.end(), each.now) != names.end();
        });
    if (renamed != renamed_keys.end()) {
      text += "it is now " + prefix + std::string(renamed->now);
    } else if (nearest.empty()) {
      text += "the keys here are ";
      for (const std::string& each : names) text += (each == names.front() ? "" : ", ") + each;
    } else {
      text += "did you mean " + prefix + nearest + "?";
    }
    refuse_at(file_, key.source(), text);
  }

  void check_tls(const http::tls_options& tls, const toml::table& root) const {
    if (tls.certificate.empty() == tls.key.empty()) return;
    const bool has_key = tls.certificate.empty();
    refuse_at(file_, root.get("tls")->source(),
              std::string(has_key ? "tls.certificate" : "tls.key") + " is missing, with " +
                  (has_key ? "tls.key" : "tls.certificate") + " given: TLS needs both");
  }

  void check_rates(const http::limits& limits, const toml::table& root) const {
    const std::pair<const char*, std::uint64_t> rates[] = {
        {"connections", limits.connections_per_second},
        {"tls_handshakes", limits.tls_handshakes_per_second},
        {"requests", limits.requests_per_second},
        {"messages", limits.messages_per_second},
        {"received_bytes", limits.received_bytes_per_second}};
    for (const auto& [what, per_second] : rates) {
      const std::string rate = "limits." + std::string(what);
      const auto given = root.at_path(rate + "_burst");
      if (!given || per_second != 0) continue;
      refuse_at(file_, given.node()->source(),
                rate + "_burst is given, but " + rate +
                    "_per_second is 0: without a rate there is "
                    "no limit");
    }
  }

  void read_applications(configuration& into, const toml::node& node) const {
    const toml::table* const all = node.as_table();
    if (all == nullptr) value(file_, "applications", node).refuse("tables");
    for (const auto& [key, each] : *all) {
      const std::string name(key.str());
      if (!detail::is_application_name(name)) {
        refuse_at(
            file_, key.source(),
            "applications." + in_quotes(name) +
                " is not a valid application name; allowed are at most 64 letters, digits, '-' "
                "and '_', a letter or a digit first");
      }
      const toml::table* const table = each.as_table();
      if (table == nullptr) value(file_, "applications." + name, each).refuse("tables");
      into.applications.push_back(read_application(name, *table));
    }
    if (const auto found = find_clash(into)) {
      const toml::table& table = *all->get(found->application)->as_table();
      const toml::node* const said = table.get(found->key);
      refuse_at(file_, (said != nullptr ? *said : table).source(), found->text);
    }
  }

  served_application read_application(const std::string& name, const toml::table& table) const {
    served_application into = detail::application_named(name);
    const std::string before = "applications." + name + ".";
    for (const auto& [key, node] : table) {
      read_key(into, detail::application_keys(), before, "", key, node);
    }
    for (const auto& each : detail::application_keys()) {
      if (each.required && table.get(each.name) == nullptr) {
        refuse_at(file_, table.source(), before + each.name + " is missing: " + each.allowed);
      }
    }
    if (table.get("files_route") == nullptr) into.files_route = into.route + "/";
    if (table.get("files_route") != nullptr && into.files.empty()) {
      refuse_at(file_, table.get("files_route")->source(),
                before + "files_route is given, but " + before + "files is not");
    }
    check_memory(into.options.limits, before, table);
    return into;
  }

  void check_memory(lua::limits& limits, const std::string& before,
                    const toml::table& table) const {
    if (limits.memory_warning_bytes <= limits.memory_bytes) return;
    const auto given = table.at_path("limits.memory_warning_bytes");
    if (!given) {
      limits.memory_warning_bytes = limits.memory_bytes / 4 * 3;
      return;
    }
    refuse_at(file_, given.node()->source(),
              before + "limits.memory_warning_bytes is " +
                  detail::size_text(limits.memory_warning_bytes) + ", more than " + before +
                  "limits.memory_bytes, " + detail::size_text(limits.memory_bytes));
  }

  const std::filesystem::path& file_;
};

std::string text_of(const std::filesystem::path& file) {
  const auto fail = [&](const char* why) {
    throw configuration_error(file.string() + ": the configuration cannot be read: " + why);
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) fail(std::strerror(EISDIR));
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) fail(std::strerror(errno));
  return std::move(text).str();
}

}  // namespace

configuration read_configuration(const std::filesystem::path& file) {
  return parse_configuration(text_of(file), file);
}

configuration parse_configuration(std::string_view text, const std::filesystem::path& file) {
  try {
    return reader(file).read(toml::parse(text));
  } catch (const toml::parse_error& wrong) {
    refuse_at(file, wrong.source(), std::string(wrong.description()));
  }
}

void expect_no_duplicates(const configuration& all) {
  if (const auto found = find_clash(all)) throw configuration_error(found->text);
}

served_application application_at(const std::filesystem::path& path) {
  if (!detail::is_application(path)) {
    throw configuration_error(in_quotes(path.string()) +
                              " is not a folder with main.lua or a file of Lua");
  }
  // Converts "." and "apps/" to the name of the folder.
  std::filesystem::path whole = std::filesystem::weakly_canonical(path);
  const std::string name =
      (std::filesystem::is_directory(path) ? whole.filename() : whole.stem()).string();
  if (!detail::is_application_name(name)) {
    throw configuration_error(in_quotes(path.string()) + " would be the application " +
                              in_quotes(name) +
                              "; a name has at most 64 letters, digits, '-' and '_', and begins "
                              "with a letter or a digit");
  }
  served_application made = detail::application_named(name);
  made.options.from = path;
  return made;
}

}  // namespace troupe::server
