// SPDX-License-Identifier: Apache-2.0

#include "trusted_proxies.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

namespace troupe::http::detail {
namespace {

using bytes = std::array<std::uint8_t, 16>;

bytes bytes_of(const ip_address& from) noexcept {
  bytes all{};
  if (from.is_v4()) {
    const auto few = from.to_v4().to_bytes();
    std::copy(few.begin(), few.end(), all.begin());
  } else {
    all = from.to_v6().to_bytes();
  }
  return all;
}

// The bits of byte `at` that belong to the network.
std::uint8_t mask(unsigned prefix, unsigned at) noexcept {
  const unsigned before = 8 * at;
  if (prefix >= before + 8) return 0xff;
  if (prefix <= before) return 0;
  return static_cast<std::uint8_t>(0xff << (8 - (prefix - before)));
}

bytes masked(bytes all, unsigned prefix) noexcept {
  for (unsigned i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::uint8_t>(all[i] & mask(prefix, i));
  }
  return all;
}

std::string to_text(const bytes& all, bool is_v6) {
  if (is_v6) return boost::asio::ip::address_v6(all).to_string();
  return boost::asio::ip::address_v4({all[0], all[1], all[2], all[3]}).to_string();
}

std::optional<unsigned> parse_prefix(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.size() > 3) return {};
  return number;
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument("\"" + std::string(text) + "\" " + why);
}

}  // namespace

trusted_proxies::trusted_proxies(const std::vector<std::string>& listed) {
  networks_.reserve(listed.size());
  for (const std::string& each : listed) networks_.push_back(parse(each));
}

trusted_proxies::network trusted_proxies::parse(std::string_view text) {
  if (text.starts_with("unix:")) {
    refuse(text,
           "is a Unix domain socket, but the server accepts TCP connections only; list the "
           "addresses of the proxies");
  }
  const std::size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  const auto address = parse_ip(name);
  if (!address) {
    refuse(text,
           "is neither an address as \"::1\" nor a network as \"10.0.0.0/8\"; host names are not "
           "looked up");
  }
  network made{.bits = bytes_of(*address), .prefix = 0, .is_v6 = address->is_v6()};
  const unsigned longest = made.is_v6 ? 128 : 32;
  // ::ffff:10.0.0.0/104 is 10.0.0.0/8.
  const bool is_mapped = !made.is_v6 && name.find(':') != std::string_view::npos;
  const unsigned skipped = is_mapped ? 96 : 0;
  made.prefix = longest;
  if (slash != std::string_view::npos) {
    const auto given = parse_prefix(text.substr(slash + 1));
    if (!given || *given > longest + skipped || *given < skipped) {
      refuse(text, "has a prefix that is not a number from " + std::to_string(skipped + 1) +
                       " to " + std::to_string(longest + skipped));
    }
    made.prefix = *given - skipped;
  }
  if (made.prefix == 0) {
    refuse(text, "would trust every client to name its own address; list the proxies");
  }
  const bytes network_bits = masked(made.bits, made.prefix);
  if (network_bits != made.bits) {
    refuse(text, "has bits after its prefix; the network is " + to_text(network_bits, made.is_v6) +
                     "/" + std::to_string(made.prefix));
  }
  return made;
}

bool trusted_proxies::trusts(const ip_address& who) const noexcept {
  if (networks_.empty()) return false;
  const bytes its = bytes_of(who);
  return std::any_of(networks_.begin(), networks_.end(), [&](const network& each) {
    return each.is_v6 == who.is_v6() && masked(its, each.prefix) == each.bits;
  });
}

}  // namespace troupe::http::detail
