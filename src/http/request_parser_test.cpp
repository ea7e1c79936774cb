// SPDX-License-Identifier: Apache-2.0

#include "request_parser.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::http::detail {
namespace {

constexpr std::size_t bytes_max = 200;

// The result of parsing these bytes in two pieces.
std::string parsed(std::string_view bytes, std::size_t first) {
  request_parser parser(bytes_max);
  auto so_far = request_parser::outcome::more;
  std::size_t left = bytes.size();
  for (std::string_view piece : {bytes.substr(0, first), bytes.substr(first)}) {
    if (so_far != request_parser::outcome::more) break;
    left -= piece.size();
    so_far = parser.next(piece);
    if (so_far != request_parser::outcome::more) left += piece.size();
  }
  if (so_far == request_parser::outcome::more) return "more";
  const request_head& head = parser.head();
  if (so_far == request_parser::outcome::failed) return std::to_string(parser.error().status);
  return std::string{head.asked.method()} + " " + std::string{head.asked.path()} + "?" +
         std::string{head.asked.query()} + " " + std::string{head.asked.header("host")} + " " +
         std::to_string(head.version) + (head.keep_alive ? " keeps" : " closes") +
         (head.expects_continue ? " expects" : "") +
         (head.body == framing::none    ? ""
          : head.body == framing::sized ? " sized " + std::to_string(head.body_bytes)
                                        : " chunked") +
         " rest " + std::string{bytes.substr(bytes.size() - left)};
}

TEST(request_parser, gives_the_same_result_for_any_split_of_the_input) {
  struct one {
    std::string bytes, expected;
  };
  const std::string fill(bytes_max, 'x');
  for (const auto& [bytes, expected] : {
           one{"GET /a%20b?c=d HTTP/1.1\r\nHost: here\r\n\r\nmore",
               "GET /a b?c=d here 11 keeps rest more"},
           one{"\r\n\r\nPOST / HTTP/1.1\r\nhost:h\r\nContent-Length: 7\r\nExpect: "
               "100-Continue\r\n\r\n",
               "POST /? h 11 keeps expects sized 7 rest "},
           one{"POST http://there:1/x HTTP/1.1\r\nHost: here\r\nConnection: a, Close\r\n"
               "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
               "POST /x? there:1 11 closes chunked rest 0\r\n\r\n"},
           one{"GET / HTTP/1.0\r\n\r\n", "GET /?  10 closes rest "},
           one{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET /?  10 keeps rest "},
           one{"GET / HTTP/1.1\r\nHost: here\r\n", "more"},
           one{"GET /" + fill, "414"},
           one{"GET / HTTP/1.1\r\nX: " + fill, "431"},
           one{"\x16\x03\x01" + fill, "400"},
           one{"GET / HTTP/1.1\r\nHost: here\nX: y\r\n\r\n", "400"},
           one{"GET / HTTP/1.1\r\nHost: here\r\nX: y\x01\r\n\r\n", "400"},
       }) {
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
      ASSERT_EQ(parsed(bytes, first), expected) << bytes << " at " << first;
    }
  }
}

TEST(request_parser, keeps_no_more_bytes_than_it_may) {
  const std::string head = "GET / HTTP/1.1\r\nHost: here\r\nX: ";
  const std::string exact = head + std::string(bytes_max - head.size() - 4, 'x') + "\r\n\r\n";
  ASSERT_EQ(exact.size(), bytes_max);
  EXPECT_NE(parsed(exact, 0), "431");
  EXPECT_EQ(parsed(head + std::string(bytes_max - head.size() - 3, 'x') + "\r\n\r\n", 0), "431");
}

TEST(request_parser, keeps_the_method_and_version_parsed_before_an_error) {
  request_parser parser(bytes_max);
  std::string_view bytes = "HEAD /x HTTP/1.1\r\nwrong\r\n";
  EXPECT_EQ(parser.next(bytes), request_parser::outcome::failed);
  EXPECT_EQ(parser.head().asked.method(), "HEAD");
  EXPECT_EQ(parser.head().version, 11u);
}

}  // namespace
}  // namespace troupe::http::detail
