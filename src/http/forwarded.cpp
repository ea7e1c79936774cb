// SPDX-License-Identifier: Apache-2.0

#include "forwarded.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "request_access.hpp"
#include "text.hpp"

namespace troupe::http::detail {
namespace {

/// The sender of a request, as one proxy names it. Nothing if the proxy hides the address.
using hop = std::optional<ip_address>;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool is_port(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), is_digit);
}

// RFC 7239, 6.3: "_hidden". Ports may be hidden in the same way.
bool is_obfuscated(std::string_view text) noexcept {
  return text.size() > 1 && text.front() == '_' &&
         std::all_of(text.begin() + 1, text.end(), [](char c) {
           const char lower = to_lower(c);
           return is_digit(c) || (lower >= 'a' && lower <= 'z') || c == '.' || c == '_' || c == '-';
         });
}

bool is_hidden(std::string_view name) noexcept {
  return equal_ignoring_case(name, "unknown") || is_obfuscated(name);
}

// RFC 7239, 6: an address or a hidden one, with or without a port. False if it is malformed.
bool read_node(std::string_view text, hop& into) {
  std::string_view name = text;
  std::string_view port;
  bool has_port = false;
  const bool in_brackets = text.starts_with('[');
  if (in_brackets) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    name = text.substr(1, end - 1);
    port = text.substr(end + 1);
    has_port = !port.empty();
    if (has_port && port.front() != ':') return false;
    if (has_port) port.remove_prefix(1);
  } else if (const std::size_t colon = text.find(':');
             colon != std::string_view::npos && colon == text.rfind(':')) {
    name = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  if (has_port && !is_port(port) && !is_obfuscated(port)) return false;
  if (!in_brackets && is_hidden(name)) {
    into = std::nullopt;
    return true;
  }
  into = parse_ip(name);
  const bool has_colons = name.find(':') != std::string_view::npos;
  return into.has_value() && (has_colons || !in_brackets);  // only IPv6 stands in brackets
}

// Follows the proxies from the last one to the first.
class walk {
 public:
  walk(const ip_address& peer, const trusted_proxies& by) : client_(peer), by_(by) {}

  /// False: the client is found.
  bool pass(const hop& next) {
    if (!next) return false;
    client_ = *next;
    return by_.trusts(client_);
  }
  [[nodiscard]] const ip_address& client() const noexcept { return client_; }

 private:
  ip_address client_;
  const trusted_proxies& by_;
};

// ── Forwarded ─────────────────────────────────────────────────────────────────────────────────

/// One line: elements with commas between them, each of them pairs with semicolons between them.
/// It is read from its beginning, because a comma may stand in a quoted text.
class forwarded_line {
 public:
  explicit forwarded_line(std::string_view text) noexcept : rest_(text) {}

  /// False if it is malformed.
  bool read(std::vector<hop>& into) {
    for (;;) {
      skip_blanks();
      if (rest_.empty()) return true;
      if (!take(',') && !read_element(into)) return false;
    }
  }

 private:
  bool read_element(std::vector<hop>& into) {
    hop from;
    bool has_for = false;
    for (;;) {
      skip_blanks();
      if (rest_.empty() || rest_.front() == ',') break;
      if (take(';')) continue;
      if (!read_pair()) return false;
      if (equal_ignoring_case(name_, "for")) {
        if (std::exchange(has_for, true) || !read_node(value_, from)) return false;
      }
      skip_blanks();
      if (!rest_.empty() && rest_.front() != ',' && rest_.front() != ';') return false;
    }
    into.push_back(from);
    return true;
  }

  bool read_pair() {
    name_ = take_while(is_token_character);
    if (name_.empty() || !take('=')) return false;
    if (take('"')) return read_quoted();
    // Ports and brackets have to be in quotes, and often are not.
    value_ = take_while(
        [](char c) { return is_token_character(c) || c == ':' || c == '[' || c == ']'; });
    return !value_.empty();
  }

  bool read_quoted() {
    value_.clear();
    while (!rest_.empty()) {
      char next = rest_.front();
      rest_.remove_prefix(1);
      if (next == '"') return true;
      if (next == '\\') {
        if (rest_.empty()) return false;
        next = rest_.front();
        rest_.remove_prefix(1);
      }
      value_.push_back(next);
    }
    return false;
  }

  template <class Fits>
  std::string_view take_while(Fits fits) noexcept {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), fits);
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  bool take(char c) noexcept {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_blanks() noexcept {
    (void)take_while([](char c) { return c == ' ' || c == '\t'; });
  }

  std::string_view rest_;
  std::string_view name_;
  std::string value_;
};

// ── X-Forwarded-For ───────────────────────────────────────────────────────────────────────────

// No RFC describes it. In use are addresses, with and without brackets, ports and quotes.
bool read_address(std::string_view text, hop& into) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return read_node(text, into);
}

bool has_element(const std::vector<std::string_view>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    return line.find_first_not_of(", \t") != std::string_view::npos;
  });
}

}  // namespace

std::optional<ip_address> client_in_forwarded(std::span<const std::string_view> lines,
                                              const ip_address& peer, const trusted_proxies& by) {
  walk to(peer, by);
  std::vector<hop> hops;
  for (std::size_t line = lines.size(); line-- > 0;) {
    hops.clear();
    if (!forwarded_line(lines[line]).read(hops)) return std::nullopt;
    for (std::size_t at = hops.size(); at-- > 0;) {
      if (!to.pass(hops[at])) return to.client();
    }
  }
  return to.client();
}

std::optional<ip_address> client_in_x_forwarded_for(std::span<const std::string_view> lines,
                                                    const ip_address& peer,
                                                    const trusted_proxies& by) {
  walk to(peer, by);
  for (std::size_t at = lines.size(); at-- > 0;) {
    std::string_view line = lines[at];
    while (!line.empty()) {
      const std::size_t comma = line.rfind(',');
      const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
      const std::string_view one = trimmed(line.substr(begin));
      line = line.substr(0, begin == 0 ? 0 : comma);
      if (one.empty()) continue;
      hop next;
      if (!read_address(one, next)) return std::nullopt;
      if (!to.pass(next)) return to.client();
    }
  }
  return to.client();
}

std::optional<ip_address> client_of(const request& asked, const ip_address& peer,
                                    const trusted_proxies& by, proxy_header which) {
  const auto lines_of = [&](proxy_header header, std::string_view name) {
    std::vector<std::string_view> lines;
    if (which != proxy_header::any && which != header) return lines;
    request_access::for_each_line(asked, name,
                                  [&](std::string_view line) { lines.push_back(line); });
    if (!has_element(lines)) lines.clear();
    return lines;
  };
  const auto standard = lines_of(proxy_header::forwarded, "Forwarded");
  const auto customary = lines_of(proxy_header::x_forwarded_for, "X-Forwarded-For");
  if (standard.empty()) return client_in_x_forwarded_for(customary, peer, by);
  const auto client = client_in_forwarded(standard, peer, by);
  if (customary.empty() || client_in_x_forwarded_for(customary, peer, by) == client) return client;
  return std::nullopt;
}

}  // namespace troupe::http::detail
