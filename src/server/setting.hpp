// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "units.hpp"
#include "value.hpp"

namespace troupe::server::detail {

/// One key of a table: how it is read into an Owner, and how the Owner's value is shown. A key is
/// defined once, where it is created here. Its reading, error messages, documentation and
/// comparison follow from that.
template <class Owner>
struct setting {
  std::string name;
  std::string allowed;
  std::function<void(Owner&, const value&)> set;
  std::function<std::string(const Owner&)> get;
  bool required = false;
  bool reloads = false;
};

/// A path to a member of an object: at(&configuration::http, &http::options::port).
template <class... Members>
constexpr auto at(Members... members) {
  return [=](auto& owner) -> auto& { return (owner.*....*members); };
}

template <class Owner, class Way>
using found_at = std::remove_cvref_t<std::invoke_result_t<Way, Owner&>>;

template <class Owner, class Way>
setting<Owner> number(std::string name, Way way, std::uint64_t least, std::uint64_t most) {
  const std::string allowed = std::to_string(least) + " to " + std::to_string(most);
  return {.name = std::move(name),
          .allowed = allowed,
          .set =
              [=](Owner& of, const value& is) {
                const auto given = is.number();
                if (!given || *given < 0 || static_cast<std::uint64_t>(*given) < least ||
                    static_cast<std::uint64_t>(*given) > most) {
                  is.refuse((given ? "" : "whole numbers, ") + allowed);
                }
                way(of) = static_cast<found_at<Owner, Way>>(*given);
              },
          .get = [=](const Owner& of) { return std::to_string(way(of)); }};
}

/// A number of bytes, as a number or as text with a unit.
template <class Owner, class Way>
setting<Owner> size(std::string name, Way way, std::uint64_t least, std::uint64_t most) {
  const std::string allowed = size_text(least) + " to " + size_text(most);
  return {.name = std::move(name),
          .allowed = allowed,
          .set =
              [=](Owner& of, const value& is) {
                std::optional<std::uint64_t> given;
                if (const auto bytes = is.number(); bytes && *bytes >= 0) {
                  given = static_cast<std::uint64_t>(*bytes);
                } else if (const auto text = is.text()) {
                  given = parse_size(*text);
                }
                if (!given) is.refuse("bytes, or texts as \"64 KiB\", from " + allowed);
                if (*given < least || *given > most) is.refuse(allowed);
                way(of) = static_cast<found_at<Owner, Way>>(*given);
              },
          .get = [=](const Owner& of) { return size_text(way(of)); }};
}

template <class Owner, class Way>
setting<Owner> time(std::string name, Way way, std::chrono::milliseconds least,
                    std::chrono::milliseconds most) {
  const std::string allowed = duration_text(least) + " to " + duration_text(most);
  return {.name = std::move(name),
          .allowed = allowed,
          .set =
              [=](Owner& of, const value& is) {
                const auto text = is.text();
                const auto given = text ? parse_duration(*text) : std::nullopt;
                if (!given) is.refuse("texts as \"10s\" or \"500ms\", from " + allowed);
                if (*given < least || *given > most) is.refuse(allowed);
                way(of) = *given;
              },
          .get = [=](const Owner& of) { return duration_text(way(of)); }};
}

template <class Owner, class Way>
setting<Owner> flag(std::string name, Way way) {
  return {.name = std::move(name),
          .allowed = "true, false",
          .set =
              [=](Owner& of, const value& is) {
                const auto given = is.flag();
                if (!given) is.refuse("true and false");
                way(of) = *given;
              },
          .get = [=](const Owner& of) { return std::string(way(of) ? "true" : "false"); }};
}

/// One of several words, each with its value.
template <class Owner, class Way>
setting<Owner> word(std::string name, Way way,
                    std::vector<std::pair<std::string, found_at<Owner, Way>>> words) {
  std::string allowed;
  for (const auto& [each, meaning] : words)
    allowed += (allowed.empty() ? "" : ", ") + in_quotes(each);
  return {.name = std::move(name),
          .allowed = allowed,
          .set =
              [=](Owner& of, const value& is) {
                const auto given = is.text();
                for (const auto& [each, meaning] : words) {
                  if (given == each) {
                    way(of) = meaning;
                    return;
                  }
                }
                is.refuse(allowed);
              },
          .get =
              [=](const Owner& of) {
                for (const auto& [each, meaning] : words) {
                  if (way(of) == meaning) return in_quotes(each);
                }
                return std::string();
              }};
}

/// A text for which `fits` returns true; `allowed` describes that condition.
template <class Owner, class Way>
setting<Owner> text(std::string name, Way way, std::string allowed,
                    bool (*fits)(std::string_view)) {
  return {.name = std::move(name),
          .allowed = allowed,
          .set =
              [=](Owner& of, const value& is) {
                const auto given = is.text();
                if (!given || !fits(*given)) is.refuse(allowed);
                way(of) = *given;
              },
          .get = [=](const Owner& of) { return in_quotes(way(of)); }};
}

/// A path that must exist. `kind` names its kind, for example "a file".
template <class Owner, class Way>
setting<Owner> path(std::string name, Way way, std::string kind,
                    bool (*exists)(const std::filesystem::path&)) {
  return {.name = std::move(name),
          .allowed = kind,
          .set =
              [=](Owner& of, const value& is) {
                const auto given = is.text();
                if (!given || given->empty()) is.refuse("paths, as texts");
                way(of) = is.path(*given);
                if (!exists(way(of))) {
                  is.refuse_as("is " + in_quotes(*given) + ", but " + in_quotes(way(of).string()) +
                               " is not " + kind);
                }
              },
          .get = [=](const Owner& of) { return in_quotes(way(of).string()); }};
}

template <class Owner>
setting<Owner> reloading(setting<Owner> which) {
  which.reloads = true;
  return which;
}

template <class Owner>
setting<Owner> required(setting<Owner> which) {
  which.required = true;
  return which;
}

}  // namespace troupe::server::detail
