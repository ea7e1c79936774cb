// SPDX-License-Identifier: Apache-2.0

// A request target, as it stands in the request line, and percent-encoding.

#include "http/target.hpp"

#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
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
  const std::string_view before = raw.substr(0, raw.find('#'));
  const auto target = parse_target(raw);
  const auto without_fragment = parse_target(before);
  require(target.has_value() == without_fragment.has_value() &&
              (!target || (target->path == without_fragment->path &&
                           target->query == without_fragment->query)),
          "a fragment means nothing");

  const std::string_view plain = raw.substr(0, raw.find_first_of("?#"));
  if (plain.starts_with('/') && plain.find('%') == std::string_view::npos &&
      std::none_of(plain.begin(), plain.end(), is_control)) {
    require(target && target->path == plain, "a plain path is taken as it is");
  }
  if (!target) return;

  require(target->path.starts_with('/'), "a path begins with a slash");
  require(std::none_of(target->path.begin(), target->path.end(), is_control),
          "a path has no control characters");
  const std::string_view query = target->query;
  if (!query.empty()) {
    require(query.data() > raw.data() && query.data() + query.size() == raw.data() + before.size(),
            "the query lies within the target, up to the fragment");
    require(query.data()[-1] == '?', "the query follows a question mark");
  }
  if (!raw.starts_with('/')) {
    const std::size_t at = raw.find("://");
    require(at != std::string_view::npos && is_scheme(raw.substr(0, at)),
            "what does not begin with a slash begins with a scheme");
    require(before.substr(at + 3).find_first_of("/?") != 0 && before.size() > at + 3,
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
