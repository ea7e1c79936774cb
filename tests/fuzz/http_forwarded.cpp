// SPDX-License-Identifier: Apache-2.0

// Which client a request of a trusted proxy is of. An input is a line for the peer's address, one for
// the trusted networks, separated by blanks, and then a line for each header: "F:" and the value of
// a Forwarded, or "X:" and that of an X-Forwarded-For.

#include "http/forwarded.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "fuzz.hpp"
#include "http/request_access.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::http;
using detail::ip_address;
using detail::trusted_proxies;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    if (blank > 0) all.emplace_back(text.substr(0, blank));
    text.remove_prefix(std::min(text.size(), blank + 1));
  }
  return all;
}

void check_networks(const std::vector<std::string>& listed) {
  for (const std::string& each : listed) {
    try {
      const trusted_proxies one({each});
      require(!one.is_empty(), "an entry that is accepted is there");
      const auto address = detail::parse_ip(each.substr(0, each.find('/')));
      require(address && one.trusts(*address), "a network has its own address");
      require(
          !one.trusts(*detail::parse_ip("0.0.0.0")) || !one.trusts(*detail::parse_ip("255.0.0.0")),
          "nobody trusts all of IPv4");
    } catch (const std::invalid_argument& why) {
      require(std::string_view(why.what()).find(each.c_str()) != std::string_view::npos,
              "an error names the entry");
    }
  }
}

bool is_sound(const std::optional<ip_address>& client) {
  if (!client) return true;
  return !(client->is_v6() && client->to_v6().is_v4_mapped()) &&
         detail::parse_ip(client->to_string()) == client;
}

// In another way than the code that is tested: all elements at once, by their commas.
std::optional<ip_address> simple_x_forwarded_for(const std::vector<std::string_view>& lines,
                                                 ip_address client, const trusted_proxies& by) {
  std::vector<std::string> all;
  for (const std::string_view line : lines) {
    std::string one;
    for (const char c : std::string(line) + ',') {
      if (c != ',') {
        one += c;
        continue;
      }
      all.push_back(std::exchange(one, {}));
    }
  }
  for (std::size_t i = all.size(); i-- > 0;) {
    std::string& one = all[i];
    while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) one.pop_back();
    one.erase(0, std::min(one.find_first_not_of(" \t"), one.size()));
    if (one.empty()) continue;
    const auto plain = detail::parse_ip(one);
    if (!plain) return std::nullopt;  // it has a port, or is wrong: not looked at here
    client = *plain;
    if (!by.trusts(client)) break;
  }
  return client;
}

void check_x_forwarded_for(const std::vector<std::string_view>& lines, const ip_address& peer,
                           const trusted_proxies& by) {
  const auto found = detail::client_in_x_forwarded_for(lines, peer, by);
  require(is_sound(found), "the client has an address, and IPv4 is IPv4");
  if (const auto simple = simple_x_forwarded_for(lines, peer, by)) {
    require(found == simple, "two ways to read it agree");
  }
  // A client writes what it likes; a proxy adds its element at the end.
  const ip_address real = *detail::parse_ip("192.0.2.1");
  if (by.trusts(real)) return;
  std::vector<std::string_view> more = lines;
  const std::string last =
      (lines.empty() ? std::string() : std::string(lines.back())) + ", 192.0.2.1";
  if (!more.empty()) more.pop_back();
  more.push_back(last);
  require(detail::client_in_x_forwarded_for(more, peer, by) == real,
          "nobody can put something after the element of a proxy");
}

void check_forwarded(const std::vector<std::string_view>& lines, const ip_address& peer,
                     const trusted_proxies& by) {
  const auto found = detail::client_in_forwarded(lines, peer, by);
  require(is_sound(found), "the client has an address, and IPv4 is IPv4");
  const ip_address real = *detail::parse_ip("192.0.2.1");
  if (by.trusts(real)) return;
  for (const char* element : {"for=192.0.2.1", "for=\"192.0.2.1:80\"", "for=192.0.2.1;by=_x"}) {
    std::vector<std::string_view> more = lines;
    more.push_back(element);
    require(detail::client_in_forwarded(more, peer, by) == real,
            "nobody can put something after the line of a proxy");
    const std::string last =
        (lines.empty() ? std::string() : std::string(lines.back())) + ", " + element;
    if (!lines.empty()) more.erase(more.end() - 2);
    more.back() = last;
    const auto behind = detail::client_in_forwarded(more, peer, by);
    require(!behind || *behind == real, "nobody can hide the element of a proxy");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = text_of(data, size);
  const auto peer = detail::parse_ip(take_line(rest)).value_or(*detail::parse_ip("10.0.0.1"));
  const std::vector<std::string> listed = words(take_line(rest));
  check_networks(listed);
  trusted_proxies by({"10.0.0.0/8", "::1"});
  try {
    by = trusted_proxies(listed);
  } catch (const std::invalid_argument&) {
  }
  std::vector<std::string_view> forwarded, x_forwarded_for;
  std::vector<std::pair<std::string, std::string>> headers;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::string_view value = line.substr(std::min<std::size_t>(2, line.size()));
    if (line.starts_with("F:")) {
      forwarded.push_back(value);
      headers.emplace_back("Forwarded", value);
    } else if (line.starts_with("X:")) {
      x_forwarded_for.push_back(value);
      headers.emplace_back("X-Forwarded-For", value);
    }
  }
  check_x_forwarded_for(x_forwarded_for, peer, by);
  check_forwarded(forwarded, peer, by);

  const request asked = detail::request_access::make("GET", "/", headers, "", false);
  const auto any = detail::client_of(asked, peer, by, proxy_header::any);
  require(is_sound(any), "the client has an address, and IPv4 is IPv4");
  const auto first = detail::client_of(asked, peer, by, proxy_header::forwarded);
  const auto second = detail::client_of(asked, peer, by, proxy_header::x_forwarded_for);
  require(!any || any == first || any == second, "the client is that of one of the headers");
  if (headers.empty()) require(any == peer, "without a header the proxy itself is the client");
  return 0;
}
