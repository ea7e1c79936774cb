// SPDX-License-Identifier: Apache-2.0

// Compares the request parser with Boost.Beast's, which is more lenient: if both accept a request,
// they must agree on it.

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "beast.hpp"
#include "body_decoder.hpp"
#include "request_parser.hpp"

namespace troupe::http::detail {
namespace {

struct understood {
  std::string method, target, body;
  std::vector<std::string> fields;
  bool keep_alive = false;
  std::size_t used = 0;
  friend bool operator==(const understood&, const understood&) = default;
};

std::optional<understood> by_troupe(std::string_view all) {
  std::string_view bytes = all;
  request_parser parser(16 * 1024);
  if (parser.next(bytes) != request_parser::outcome::done) return std::nullopt;
  request_head& head = parser.head();
  understood result;
  result.method = head.asked.method();
  result.target = head.asked.target();
  result.keep_alive = head.keep_alive;
  for (const char* name : {"a", "b", "connection"}) {
    request_access::for_each_line(head.asked, name, [&](std::string_view value) {
      result.fields.push_back(name + std::string{value});
    });
  }
  if (head.has_body()) {
    body_decoder decoder = head.body == framing::chunked ? body_decoder::chunked(1024)
                                                         : body_decoder::sized(head.body_bytes);
    auto so_far = body_decoder::outcome::data;
    while ((so_far = decoder.next(bytes)) == body_decoder::outcome::data) {
      result.body += decoder.data();
    }
    if (so_far != body_decoder::outcome::done) return std::nullopt;
  }
  result.used = all.size() - bytes.size();
  return result;
}

std::optional<understood> by_beast(std::string_view all) {
  beast::http::request_parser<beast::http::string_body> parser;
  parser.eager(true);
  std::string_view bytes = all;
  std::vector<std::string> fields;
  bool says_close = false;
  const auto note = [&] {
    for (const char* name : {"a", "b", "connection"}) {
      const auto [first, last] = parser.get().equal_range(name);
      for (auto each = first; each != last; ++each) {
        fields.push_back(name + std::string{each->value()});
        says_close = says_close || fields.back() == "connectionclose";
      }
    }
  };
  bool has_head = false;
  while (!parser.is_done()) {
    if (bytes.empty()) return std::nullopt;
    boost::system::error_code error;
    // The head is parsed alone first, because Beast adds trailers to the headers.
    parser.eager(has_head);
    const std::size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    bytes.remove_prefix(used);
    if (!has_head && parser.is_header_done()) {
      has_head = true;
      note();
    } else if (error || used == 0) {
      return std::nullopt;
    }
  }
  understood result;
  result.method = std::string{parser.get().method_string()};
  result.target = std::string{parser.get().target()};
  // With HTTP/1.0, Beast prefers "keep-alive" to "close".
  result.keep_alive = parser.keep_alive() && !says_close;
  result.body = parser.get().body();
  result.fields = std::move(fields);
  result.used = all.size() - bytes.size();
  return result;
}

class source {
 public:
  explicit source(std::uint32_t seed) : random_(seed) {}
  bool one_in(unsigned n) { return random_() % n == 0; }
  template <std::size_t N>
  std::string any(const char* const (&of)[N]) {
    return of[random_() % N];
  }
  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  std::mt19937 random_;
};

std::string some_request(source& by) {
  std::string all = by.any({"GET", "POST", "PUT", "FROB"});
  all += by.any({" /", " /a?b=c", " http://here/x", " /%41"});
  all += by.any({" HTTP/1.1\r\n", " HTTP/1.1\r\n", " HTTP/1.0\r\n"});
  all += by.any({"Host: here\r\n", "host:h:80\r\n", "HOST: \t[::1] \r\n"});
  for (std::size_t i = by.below(4); i > 0; --i) {
    all += by.any({"a: b\r\n", "A:\r\n", "b: \x80\xff\r\n", "Connection: close\r\n",
                   "Connection: keep-alive\r\n", "a: \t c d \t\r\n"});
  }
  if (by.one_in(3)) {
    const std::size_t size = by.below(30);
    all += "Content-Length: " + std::to_string(size) + "\r\n\r\n" + std::string(size, 'x');
  } else if (by.one_in(2)) {
    all += by.any({"Transfer-Encoding: chunked\r\n\r\n", "transfer-encoding:\tChunked \r\n\r\n"});
    for (std::size_t i = by.below(4); i > 0; --i) {
      all += by.any({"3\r\nabc\r\n", "a;x=y\r\n0123456789\r\n", "1;z=\"q\"\r\n\r\r\n"});
    }
    all += by.any({"0\r\n\r\n", "00\r\na: trailer\r\n\r\n"});
  } else {
    all += "\r\n";
  }
  if (by.one_in(3)) all += "GET / HTTP/1.1\r\nHost: next\r\n\r\n";
  if (by.one_in(3)) {
    const std::size_t at = by.below(all.size());
    switch (by.below(3)) {
      case 0:
        all[at] = static_cast<char>(by.below(256));
        break;
      case 1:
        all.erase(at, 1);
        break;
      default:
        all.insert(at, 1, by.any({"\r", "\n", ":", " ", "0", ";", ","}).front());
    }
  }
  return all;
}

TEST(request_parser, takes_nothing_that_beast_understands_otherwise) {
  std::size_t taken = 0;
  for (std::uint32_t seed = 0; seed < 20'000; ++seed) {
    source by(seed);
    const std::string bytes = some_request(by);
    const auto ours = by_troupe(bytes);
    if (!ours) continue;
    ++taken;
    const auto theirs = by_beast(bytes);
    // Beast refuses some requests that we accept, as a later version of HTTP/1.
    if (!theirs) continue;
    ASSERT_EQ(ours->used, theirs->used) << "seed " << seed << "\n" << bytes;
    ASSERT_TRUE(*ours == *theirs) << "seed " << seed << "\n" << bytes;
  }
  EXPECT_GT(taken, 10'000u);
}

}  // namespace
}  // namespace troupe::http::detail
