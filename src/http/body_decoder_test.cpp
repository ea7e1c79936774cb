// SPDX-License-Identifier: Apache-2.0

#include "body_decoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace troupe::http::detail {
namespace {

struct result {
  std::string body;
  std::string end;  // and the rest of the bytes
};

result decoded(body_decoder by, std::string_view bytes, std::size_t piece_max) {
  result all;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, piece_max);
    bytes.remove_prefix(piece.size());
    for (;;) {
      const body_decoder::outcome what = by.next(piece);
      if (what == body_decoder::outcome::data) {
        all.body += by.data();
        continue;
      }
      if (what == body_decoder::outcome::more) break;
      if (what == body_decoder::outcome::failed) {
        all.end = by.is_too_large() ? "too large" : "failed";
      } else {
        all.end = "done " + std::string{piece} + std::string{bytes};
      }
      return all;
    }
  }
  all.end = "more";
  return all;
}

void expect(const body_decoder& by, std::string_view bytes, const std::string& body,
            const std::string& end) {
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const result all = decoded(by, bytes, piece);
    EXPECT_EQ(all.body, body) << bytes << " by " << piece;
    EXPECT_EQ(all.end, end) << bytes << " by " << piece;
  }
}

TEST(body_decoder, takes_a_body_of_known_size) {
  expect(body_decoder::sized(3), "abcGET", "abc", "done GET");
  expect(body_decoder::sized(3), "ab", "ab", "more");
  expect(body_decoder::sized(0), "GET", "", "done GET");
}

TEST(body_decoder, reads_a_chunked_body_and_drops_extensions_and_trailers) {
  const body_decoder by = body_decoder::chunked(100);
  expect(by, "0\r\n\r\nGET", "", "done GET");
  expect(by, "3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n", "abc0123456789", "done ");
  expect(by, "1;x=\"y;z\"\r\na\r\n1 \t;x\r\nb\r\n000;last\r\nA: b\r\nC:\r\n\r\nGET", "ab",
         "done GET");
  expect(by, "3\r\nabc\r\n", "abc", "more");
}

TEST(body_decoder, refuses_malformed_chunks) {
  const body_decoder by = body_decoder::chunked(100);
  for (const char* bytes :
       {"\r\n", "g\r\n", " 1\r\n", "1 \r\n", "1\n", "12345678901234567\r\n", "-1\r\n", "0\r\n\n",
        "0\r\nA\r\n\r\n", "0\r\n A: b\r\n\r\n", "0\r\nA: \x01\r\n\r\n", "0\r\nA: b\n\r\n"}) {
    expect(by, bytes, "", "failed");
  }
  expect(by, "1\r\nab\r\n", "a", "failed");
  expect(by, "1\r\na\n", "a", "failed");
}

TEST(body_decoder, extensions_and_trailers_share_a_bound) {
  expect(body_decoder::chunked(4), "1;ab\r\nx\r\n0\r\n\r\n", "x", "done ");
  expect(body_decoder::chunked(4), "1;a\r\nx\r\n0\r\nA:\r\n\r\n", "x", "done ");
  expect(body_decoder::chunked(4), "1;a\r\nx\r\n0\r\nA:b\r\n\r\n", "x", "too large");
  expect(body_decoder::chunked(4), "1;abcdefgh\r\nx\r\n0\r\n\r\n", "", "too large");
  expect(body_decoder::chunked(0), "1\r\nx\r\n0\r\n\r\n", "x", "done ");
}

}  // namespace
}  // namespace troupe::http::detail
