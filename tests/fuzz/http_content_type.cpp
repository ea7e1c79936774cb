// SPDX-License-Identifier: Apache-2.0

// The content type of a file, for a name that a client has requested.

#include "http/content_type.hpp"

#include "fuzz.hpp"

using namespace troupe::fuzz;
using troupe::http::detail::content_type_of;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view name = text_of(data, size);
  const std::string_view type = content_type_of(name);
  require(type.find('/') != std::string_view::npos, "every file has a type");
  require(content_type_of(upper(name)) == type && content_type_of(lower(name)) == type,
          "capitals make no difference");
  require(content_type_of("a.html/" + std::string{name}) == type, "nor does the folder");
  if (name.find('.') == std::string_view::npos) {
    require(type == "application/octet-stream", "without an extension nothing is known");
  }
  if (type.starts_with("text/")) {
    require(type.ends_with("; charset=utf-8"), "a text has an encoding");
  }
  return 0;
}
