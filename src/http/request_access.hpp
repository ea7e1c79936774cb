// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/http/request.hpp>

#include "route_pattern.hpp"
#include "text.hpp"

namespace troupe::http::detail {

/// Builds requests, and reads the parts that handlers cannot see.
struct request_access {
  using slice = request::slice;

  /// The text that all slices of the request refer to.
  static std::string& text(request& of) noexcept { return of.head_; }
  static std::string_view view(const request& of, slice s) noexcept { return of.view(s); }

  static void set_line(request& of, slice method, slice target) noexcept {
    of.method_ = method;
    of.target_ = target;
  }
  static void add_field(request& of, slice name, slice value) {
    of.fields_.push_back({name, value});
  }
  /// Sets the value of each field of that name to this part of the text; adds the field if missing.
  static void set_field(request& of, std::string_view name, slice value);
  /// The path as it was sent; empty if it has no escapes.
  static std::string_view sent_path(const request& of) noexcept { return of.view(of.sent_path_); }
  /// Sets the pattern that the path matches; null if the path has no parameters.
  static void set_pattern(request& of, std::shared_ptr<const route_pattern> pattern) noexcept {
    of.pattern_ = std::move(pattern);
  }
  /// Sets path and query from the target. Returns false if the target cannot be served.
  static bool set_path(request& of);
  static void set_peer(request& of, std::string_view peer, bool secure);
  static void set_body(request& of, std::string body) noexcept { of.body_ = std::move(body); }

  /// Calls `each` with the value of each line of that name, in order.
  template <class Each>
  static void for_each_line(const request& of, std::string_view name, Each&& each) {
    for (const request::field& f : of.fields_) {
      if (equal_ignoring_case(of.view(f.name), name)) each(of.view(f.value));
    }
  }
  static std::size_t count(const request& of, std::string_view name) {
    std::size_t lines = 0;
    for_each_line(of, name, [&](std::string_view) { ++lines; });
    return lines;
  }
  /// Whether a header that is a list, on one line or several, contains `element`, in any case.
  static bool lists(const request& of, std::string_view name, std::string_view element) {
    bool found = false;
    for_each_line(of, name, [&](std::string_view line) {
      for_each_element(
          line, [&](std::string_view one) { found = found || equal_ignoring_case(one, element); });
    });
    return found;
  }
  /// The lines of a header as one list.
  static std::string joined(const request& of, std::string_view name) {
    std::string all;
    for_each_line(of, name,
                  [&](std::string_view line) { all.append(all.empty() ? "" : ", ").append(line); });
    return all;
  }

  /// A copy of exact size with what request's functions return: without the body, and with the
  /// first of several headers of one name. If `kept` is not null, it has only these headers.
  static request compact(const request& of, const std::vector<std::string>* kept);
  /// The memory of a request without its body.
  static std::size_t bytes_kept(const request& of) noexcept {
    return of.head_.capacity() + of.fields_.capacity() * sizeof(request::field);
  }

  /// A request that this process has sent; empty if the target is invalid.
  static request make(std::string_view method, std::string_view target,
                      const std::vector<std::pair<std::string, std::string>>& headers,
                      std::string_view peer, bool secure);

 private:
  static slice add(request& of, std::string_view text);
  static std::vector<const request::field*> first_fields(const request& of,
                                                         const std::vector<std::string>* kept);
};

}  // namespace troupe::http::detail
