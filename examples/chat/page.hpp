// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace chat {

struct page_file {
  std::string_view path;  // the path of a browser's request
  std::string_view content_type;
  std::string_view bytes;
};

/// The files of page/, which the build embeds in the program.
std::span<const page_file> page();

}  // namespace chat
