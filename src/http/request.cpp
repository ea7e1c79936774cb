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
      std::replace(text.begin(), text.end(), '+', ' ');  // as forms encode it
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

request_access::slice request_access::add(request& of, std::string_view text) {
  const auto begin = static_cast<std::uint32_t>(of.head_.size());
  of.head_ += text;
  return {begin, static_cast<std::uint32_t>(text.size())};
}

void request_access::set_field(request& of, std::string_view name, slice value) {
  bool found = false;
  for (request::field& f : of.fields_) {
    if (!equal_ignoring_case(of.view(f.name), name)) continue;
    f.value = value;
    found = true;
  }
  if (!found) of.fields_.push_back({add(of, name), value});
}

bool request_access::set_path(request& of) {
  const auto where = parse_target(of.target());
  if (!where) return false;
  const auto part = [&](std::string_view text) {
    return slice{of.target_.begin + static_cast<std::uint32_t>(text.data() - of.target().data()),
                 static_cast<std::uint32_t>(text.size())};
  };
  // An empty query may lie elsewhere.
  if (!where->query.empty()) of.query_ = part(where->query);
  // RFC 9112, 3.2.2: the host of the absolute form replaces that of the header.
  if (!where->authority.empty()) set_field(of, "Host", part(where->authority));
  of.path_ = add(of, where->path);
  return true;
}

void request_access::set_peer(request& of, std::string_view peer, bool secure) {
  of.peer_ = add(of, peer);
  of.secure_ = secure;
}

// Sorted, because a client may send thousands of them.
std::vector<const request::field*> request_access::first_fields(
    const request& of, const std::vector<std::string>* kept) {
  std::vector<const request::field*> those;
  for (const request::field& f : of.fields_) {
    const auto is_name = [&](std::string_view name) {
      return equal_ignoring_case(of.view(f.name), name);
    };
    if (kept == nullptr || std::any_of(kept->begin(), kept->end(), is_name)) those.push_back(&f);
  }
  const auto name = [&](const request::field* f) { return of.view(f->name); };
  std::sort(those.begin(), those.end(), [&](const request::field* a, const request::field* b) {
    if (equal_ignoring_case(name(a), name(b))) return a < b;
    return less_ignoring_case(name(a), name(b));
  });
  const auto end = std::unique(those.begin(), those.end(),
                               [&](const request::field* a, const request::field* b) {
                                 return equal_ignoring_case(name(a), name(b));
                               });
  those.erase(end, those.end());
  std::sort(those.begin(), those.end());  // in their own order
  return those;
}

request request_access::compact(const request& of, const std::vector<std::string>* kept) {
  const std::vector<const request::field*> fields = first_fields(of, kept);
  // Most paths are part of their target as they are.
  const std::size_t at = of.target().find(of.path());
  const bool has_path = at != std::string_view::npos;
  std::size_t bytes = of.method_.size + of.target_.size + of.peer_.size;
  if (!has_path) bytes += of.path_.size;
  for (const request::field* f : fields) bytes += f->name.size + f->value.size;
  request made;
  made.head_.reserve(bytes);
  made.fields_.reserve(fields.size());
  made.method_ = add(made, of.method());
  made.target_ = add(made, of.target());
  if (of.query_.size > 0) {
    made.query_ = {made.target_.begin + of.query_.begin - of.target_.begin, of.query_.size};
  }
  made.path_ = has_path ? slice{made.target_.begin + static_cast<std::uint32_t>(at), of.path_.size}
                        : add(made, of.path());
  made.peer_ = add(made, of.peer());
  made.secure_ = of.secure_;
  for (const request::field* f : fields) {
    const slice name = add(made, of.view(f->name));
    made.fields_.push_back({name, add(made, of.view(f->value))});
  }
  return made;
}

request request_access::make(std::string_view method, std::string_view target,
                             const std::vector<std::pair<std::string, std::string>>& headers,
                             std::string_view peer, bool secure) {
  request made;
  const slice named = add(made, method);
  set_line(made, named, add(made, target));
  for (const auto& [name, value] : headers) {
    const slice begin = add(made, name);
    add_field(made, begin, add(made, trimmed(value)));
  }
  if (!set_path(made)) return {};
  set_peer(made, peer, secure);
  return made;
}

}  // namespace detail
}  // namespace troupe::http
