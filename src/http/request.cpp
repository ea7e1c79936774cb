// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/request.hpp>

#include <algorithm>

#include "request_access.hpp"
#include "target.hpp"
#include "text.hpp"

namespace troupe::http {

std::optional<std::string> request::parameter(std::string_view name) const {
  std::string_view rest = query();
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto decoded = [](std::string_view part) {
      std::string text{part};
      std::replace(text.begin(), text.end(), '+', ' ');  // as forms write it
      return detail::percent_decoded(text);
    };
    if (decoded(pair.substr(0, equals)) == name) {
      return decoded(pair.substr(std::min(equals + 1, pair.size()))).value_or("");
    }
  }
  return std::nullopt;
}

const request::field* request::find(std::string_view name) const noexcept {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const field& f) {
    return detail::equal_ignoring_case(view(f.name), name);
  });
  return found == fields_.end() ? nullptr : &*found;
}

std::string_view request::header(std::string_view name) const noexcept {
  const field* const found = find(name);
  return found == nullptr ? std::string_view{} : view(found->value);
}

bool request::has_header(std::string_view name) const noexcept { return find(name) != nullptr; }

namespace detail {

std::optional<request> request_access::make(parsed_request& from, std::string_view peer,
                                            bool secure) {
  const std::string_view raw = from.target();
  const auto where = parse_target(raw);
  if (!where) return std::nullopt;

  request result;
  std::size_t bytes = from.method_string().size() + raw.size() + where->path.size() + peer.size();
  std::size_t fields = 0;
  for (const auto& f : from) {
    bytes += f.name_string().size() + f.value().size();
    ++fields;
  }
  result.head_.reserve(bytes);
  result.fields_.reserve(fields);

  const auto add = [&](std::string_view text) {
    const auto begin = static_cast<std::uint32_t>(result.head_.size());
    result.head_ += text;
    return request::slice{begin, static_cast<std::uint32_t>(text.size())};
  };
  result.method_ = add(from.method_string());
  result.target_ = add(raw);
  result.path_ = add(where->path);
  result.peer_ = add(peer);
  result.secure_ = secure;
  if (!where->query.empty()) {  // otherwise it may lie elsewhere
    result.query_ = {
        result.target_.begin + static_cast<std::uint32_t>(where->query.data() - raw.data()),
        static_cast<std::uint32_t>(where->query.size())};
  }
  for (const auto& f : from) {
    const auto name = add(f.name_string());
    result.fields_.push_back({name, add(f.value())});
  }
  result.body_ = std::move(from.body());
  return result;
}

}  // namespace detail
}  // namespace troupe::http
