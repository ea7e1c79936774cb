// SPDX-License-Identifier: Apache-2.0

// A request target of a request line, and percent-encoding.

#include "http/target.hpp"

#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using troupe::http::detail::is_host;
using troupe::http::detail::parse_target;
using troupe::http::detail::percent_decoded;

std::string encoded(std::string_view plain) {
  constexpr std::string_view digits = "0123456789aBcDeF";
  std::string all;
  for (const char c : plain) {
    all += '%';
    all += digits[static_cast<unsigned char>(c) >> 4];
    all += digits[static_cast<unsigned char>(c) & 15];
  }
  return all;
}

bool is_scheme(std::string_view text) {
  if (text.empty() || lower(text.front()) < 'a' || lower(text.front()) > 'z') return false;
  return lower(text).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") ==
         std::string::npos;
}

void check_decoding(std::string_view raw) {
  require(percent_decoded(encoded(raw)) == raw, "what was encoded is decoded");
  const auto decoded = percent_decoded(raw);
  if (raw.find('%') == std::string_view::npos) {
    require(decoded == raw, "what has no escape stays as it is");
  }
  if (!decoded) return;
  require(decoded->size() <= raw.size(), "decoding adds nothing");
  require(percent_decoded(encoded(*decoded)) == decoded, "decoded text can be encoded again");
}

void check_target(std::string_view raw) {
  const auto target = parse_target(raw);
  const auto is_allowed = [](char c) { return c > 0x20 && c < 0x7f && c != '#'; };
  if (!std::all_of(raw.begin(), raw.end(), is_allowed)) {
    return require(!target, "a blank, a fragment, and what is not ASCII have no place in a target");
  }

  const std::string_view plain = raw.substr(0, raw.find('?'));
  if (plain.starts_with('/') && plain.find('%') == std::string_view::npos) {
    require(target && target->path == plain, "a plain path is taken as it is");
  }
  if (!target) return;

  require(target->path.starts_with('/'), "a path begins with a slash");
  require(std::none_of(target->path.begin(), target->path.end(), is_control),
          "a path has no control characters");
  const std::string_view query = target->query;
  if (!query.empty()) {
    require(query.data() > raw.data() && query.data() + query.size() == raw.data() + raw.size(),
            "the query lies within the target, up to its end");
    require(query.data()[-1] == '?', "the query follows a question mark");
  }
  if (!raw.starts_with('/')) {
    const std::size_t at = raw.find("://");
    require(at != std::string_view::npos && is_scheme(raw.substr(0, at)),
            "what does not begin with a slash begins with a scheme");
    const std::string_view rest = raw.substr(at + 3);
    require(target->authority == rest.substr(0, rest.find_first_of("/?")) &&
                !target->authority.empty() && is_host(target->authority),
            "behind the scheme is a host");
  }

  std::string again = "/" + encoded(target->path.substr(1)) + "?";
  again += query;
  const auto second = parse_target(again);
  require(second && second->path == target->path && second->query == query,
          "what was taken apart can be put together again");
  if (raw.starts_with('/')) {
    const std::string absolute = "http://host" + std::string{raw};
    const auto third = parse_target(absolute);
    require(third && third->path == target->path && third->query == query,
            "with scheme and host it is the same");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view raw = text_of(data, size);
  check_decoding(raw);
  check_target(raw);
  return 0;
}
