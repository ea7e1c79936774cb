// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/middleware.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include <troupe/http/problem.hpp>

#include "middleware_chain.hpp"
#include "request_access.hpp"
#include "text.hpp"

namespace troupe::http {

namespace detail {
namespace {

task<response> pass_on(const middleware_chain& of, std::size_t index, request r) {
  if (index < of.around.size()) {
    co_return co_await of.around[index].start(std::move(r), next_handler(of, index + 1));
  }
  std::optional<response> refused;
  try {
    if (of.inside.is_coroutine()) co_return co_await of.inside.start(std::move(r));
    co_return of.inside(r);
  } catch (const request_error& e) {
    refused = e.to_response();
  }
  co_return std::move(*refused);
}

bool has_header(const response& r, std::string_view name) {
  return std::any_of(r.headers.begin(), r.headers.end(),
                     [&](const auto& each) { return equal_ignoring_case(each.first, name); });
}

bool is_request_id(std::string_view text) noexcept {
  constexpr std::string_view marks = "-_.";
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
           marks.find(c) != std::string_view::npos;
  });
}

std::string random_id() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<unsigned char, 16> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw std::runtime_error("OpenSSL has no random numbers");
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

void expect_realm(std::string_view realm) {
  const bool is_fine = std::all_of(realm.begin(), realm.end(), [](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
  if (is_fine) return;
  throw std::invalid_argument(
      "http: the realm of an authentication must be printable ASCII without quotes and "
      "backslashes");
}

// The part after "Basic " or "Bearer "; nothing for another scheme, and for several headers.
std::optional<std::string_view> credentials_of(const request& r, std::string_view scheme) {
  if (request_access::count(r, "Authorization") != 1) return std::nullopt;
  const std::string_view text = r.header("Authorization");
  if (text.size() <= scheme.size() || text[scheme.size()] != ' ' ||
      !equal_ignoring_case(text.substr(0, scheme.size()), scheme)) {
    return std::nullopt;
  }
  return trimmed(text.substr(scheme.size() + 1));
}

// RFC 4648, 4: with padding, and nothing else in between.
std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  if (!std::all_of(digits.begin(), digits.end(), [](char c) {
        return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '+' ||
               c == '/';
      })) {
    return std::nullopt;
  }
  std::string decoded(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  decoded.resize(static_cast<std::size_t>(size) - padding);
  return decoded;
}

std::optional<basic_credentials> basic_of(const request& r) {
  const auto encoded = credentials_of(r, "Basic");
  if (!encoded) return std::nullopt;
  const std::optional<std::string> decoded = base64_decoded(*encoded);
  if (!decoded) return std::nullopt;
  const std::size_t colon = decoded->find(':');
  if (colon == std::string::npos) return std::nullopt;
  // RFC 7617, 2.
  if (std::any_of(decoded->begin(), decoded->end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return std::nullopt;
  }
  return basic_credentials{decoded->substr(0, colon), decoded->substr(colon + 1)};
}

// RFC 6750, 2.1.
std::optional<bearer_token> bearer_of(const request& r) {
  constexpr std::string_view marks = "-._~+/";
  const auto token = credentials_of(r, "Bearer");
  if (!token || token->find_last_not_of('=') == std::string_view::npos) return std::nullopt;
  const std::string_view rest = token->substr(0, token->find_last_not_of('=') + 1);
  if (!std::all_of(rest.begin(), rest.end(), [&](char c) {
        return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
               marks.find(c) != std::string_view::npos;
      })) {
    return std::nullopt;
  }
  return bearer_token{std::string{*token}};
}

response unauthorized(std::string_view scheme, std::string_view realm) {
  response r = problem(401);
  r.headers.emplace_back("WWW-Authenticate",
                         std::string{scheme} + " realm=\"" + std::string{realm} + "\"");
  return r;
}

template <class Credentials>
middleware authentication(std::string_view scheme, std::string realm,
                          std::optional<Credentials> (*read)(const request&),
                          std::function<task<bool>(const Credentials&)> check) {
  expect_realm(realm);
  return [scheme, realm = std::move(realm), read, check = std::move(check)](
             request r, next_handler next) -> task<response> {
    std::optional<Credentials> who = read(r);
    if (!who) co_return unauthorized(scheme, realm);
    if (!co_await check(*who)) co_return unauthorized(scheme, realm);
    r.attach(std::move(*who));
    co_return co_await next(std::move(r));
  };
}

}  // namespace

handler wrapped(const std::vector<middleware>& around, const handler& inside) {
  if (around.empty()) return inside;
  return [chain = std::make_shared<const middleware_chain>(middleware_chain{around, inside})](
             request r) -> task<response> { return pass_on(*chain, 0, std::move(r)); };
}

}  // namespace detail

task<response> next_handler::operator()(request r) const {
  return detail::pass_on(*of_, index_, std::move(r));
}

middleware identify_requests() {
  return [](request r, next_handler next) -> task<response> {
    const std::string_view sent = r.header("X-Request-Id");
    const std::string id = detail::is_request_id(sent) ? std::string{sent} : detail::random_id();
    r.attach(request_id{id});
    response made = co_await next(std::move(r));
    if (!detail::has_header(made, "X-Request-Id")) made.headers.emplace_back("X-Request-Id", id);
    co_return made;
  };
}

middleware secure_responses(security_headers with) {
  return [with = std::move(with)](request r, next_handler next) -> task<response> {
    const bool is_secure = r.secure();
    response made = co_await next(std::move(r));
    const auto set = [&](const char* name, const std::string& value) {
      if (!value.empty() && !detail::has_header(made, name)) made.headers.emplace_back(name, value);
    };
    set("X-Content-Type-Options", with.content_type_options);
    set("X-Frame-Options", with.frame_options);
    set("Referrer-Policy", with.referrer_policy);
    set("Content-Security-Policy", with.content_security_policy);
    if (is_secure && with.strict_transport) {
      set("Strict-Transport-Security", "max-age=" + std::to_string(with.strict_transport->count()));
    }
    co_return made;
  };
}

middleware basic_authentication(std::string realm,
                                std::function<task<bool>(const basic_credentials&)> check) {
  return detail::authentication<basic_credentials>("Basic", std::move(realm), detail::basic_of,
                                                   std::move(check));
}

middleware bearer_authentication(std::string realm,
                                 std::function<task<bool>(const bearer_token&)> check) {
  return detail::authentication<bearer_token>("Bearer", std::move(realm), detail::bearer_of,
                                              std::move(check));
}

bool is_same_secret(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace troupe::http
