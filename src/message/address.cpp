// SPDX-License-Identifier: Apache-2.0
#include <troupe/message/address.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include <troupe/detail/base/thread_host.hpp>

namespace troupe {

std::string to_string(const address& of) {
  if (!of) return "nobody";
  if (detail::thread_host* const host = detail::thread_host::here()) {
    return '#' + std::to_string(host->number_of(detail::address_access::line(of),
                                                detail::address_access::generation(of)));
  }
  const auto line = reinterpret_cast<std::uintptr_t>(detail::address_access::line(of));
  std::array<char, 40> text;
  auto [end, error] = std::to_chars(text.data(), text.data() + 20, line / 64, 16);
  *end++ = '.';
  end = std::to_chars(end, text.data() + text.size(), detail::address_access::generation(of)).ptr;
  return {text.data(), end};
}

}  // namespace troupe
