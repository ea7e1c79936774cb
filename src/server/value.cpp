// SPDX-License-Identifier: Apache-2.0
#include "value.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include <troupe/server/configuration.hpp>

namespace troupe::server::detail {
namespace {

using nlohmann::json;

// Throws the error message as a std::string.
json to_json(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: {
      json all = json::object();
      for (const auto& [key, each] : *node.as_table()) all[std::string(key.str())] = to_json(each);
      return all;
    }
    case toml::node_type::array: {
      json all = json::array();
      for (const toml::node& each : *node.as_array()) all.push_back(to_json(each));
      return all;
    }
    case toml::node_type::string:
      return node.as_string()->get();
    case toml::node_type::integer:
      return node.as_integer()->get();
    case toml::node_type::boolean:
      return node.as_boolean()->get();
    case toml::node_type::floating_point:
      if (std::isfinite(node.as_floating_point()->get())) return node.as_floating_point()->get();
      throw std::string("contains a number that JSON cannot represent; write it as a string");
    default:
      throw std::string("contains a date, which JSON cannot represent; write it as a string");
  }
}

std::string shown(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return in_quotes(node.as_string()->get());
    default: {
      std::ostringstream text;
      node.visit([&](const auto& each) { text << each; });
      return text.str();
    }
  }
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, longest)) {
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return result + (text.size() > longest ? "…\"" : "\"");
}

void refuse_at(const std::filesystem::path& file, const toml::source_region& where,
               const std::string& text) {
  throw configuration_error(file.string() + ":" + std::to_string(where.begin.line) + ":" +
                            std::to_string(where.begin.column) + ": " + text);
}

std::optional<std::int64_t> value::number() const { return node_.value_exact<std::int64_t>(); }
std::optional<std::string> value::text() const { return node_.value_exact<std::string>(); }
std::optional<bool> value::flag() const { return node_.value_exact<bool>(); }

std::optional<std::vector<std::string>> value::texts() const {
  const toml::array* const all = node_.as_array();
  if (all == nullptr) return std::nullopt;
  std::vector<std::string> result;
  for (const toml::node& each : *all) {
    const auto text = each.value_exact<std::string>();
    if (!text) return std::nullopt;
    result.push_back(*text);
  }
  return result;
}

std::string value::json() const {
  try {
    return to_json(node_).dump();
  } catch (const std::string& why) {
    refuse_as(why);
  } catch (const nlohmann::json::exception&) {
    refuse_as("contains a string that is not valid UTF-8");
  }
}

std::filesystem::path value::path(const std::string& text) const {
  return (file_.parent_path() / text).lexically_normal();
}

void value::refuse(const std::string& allowed) const {
  refuse_as("is " + shown(node_) + "; allowed are " + allowed);
}

void value::refuse_as(const std::string& what) const {
  refuse_at(file_, node_.source(), name_ + " " + what);
}

}  // namespace troupe::server::detail
