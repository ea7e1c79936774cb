// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <troupe/http/request.hpp>

#include "body_decoder.hpp"
#include "request_access.hpp"

// The head of a request: RFC 9112, sections 2 to 6.

namespace troupe::http::detail {

/// Why a request is refused before it is routed.
struct refusal {
  unsigned status = 0;
  std::string_view why = {};
};

/// A request whose head is complete, and how its body is framed.
struct request_head {
  /// A path of this server, the server as a whole ("*"), or another host ("host:port").
  enum class target_form : std::uint8_t { path, asterisk, authority };

  request asked;  // has neither body nor peer yet
  target_form form = target_form::path;
  unsigned version = 11;  // 10 or 11
  bool keep_alive = true;
  bool expects_continue = false;
  framing body = framing::none;
  std::uint64_t body_bytes = 0;  // size of a body with framing::sized

  [[nodiscard]] bool has_body() const noexcept { return body != framing::none; }
};

/// Parses the head of a request from bytes that come in any pieces. Each line is checked as soon as
/// it is complete.
///
/// It is strict where two readers could disagree about where a request ends (RFC 9112, 11.2): lines
/// end with CRLF, headers are not folded, no blank stands before a colon, and exactly one header
/// gives the length of the body.
///
/// Threads:   a plain value.
/// Invariant: it stores at most `bytes_max` bytes.
class request_parser {
 public:
  enum class outcome : std::uint8_t {
    more,    // all bytes are used up
    done,    // head() is complete; later bytes are the body
    failed,  // error() has the reason
  };

  /// `bytes_max`: request line and headers, with the ends of their lines.
  explicit request_parser(std::size_t bytes_max) noexcept;

  /// Uses up bytes from the front.
  outcome next(std::string_view& bytes);

  /// After `done`; after `failed`, what was parsed before the error.
  [[nodiscard]] request_head& head() noexcept { return head_; }
  [[nodiscard]] const request_head& head() const noexcept { return head_; }
  [[nodiscard]] const refusal& error() const noexcept { return error_; }

 private:
  using slice = request_access::slice;

  [[nodiscard]] std::string& text() noexcept { return request_access::text(head_.asked); }
  outcome fail(unsigned status, std::string_view why);
  outcome too_large();
  outcome end_of_line();
  outcome read_request_line();
  outcome read_field();
  outcome end_of_head();
  outcome check_host();
  outcome check_body();
  outcome check_encoding();
  outcome check_length();

  const std::size_t bytes_max_;
  request_head head_;
  refusal error_;
  std::size_t used_ = 0;
  std::size_t line_ = 0;  // where the current line begins
  bool in_fields_ = false;
};

}  // namespace troupe::http::detail
