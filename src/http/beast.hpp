// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/beast/core/buffers_generator.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/http/message_generator.hpp>
#include <utility>

namespace troupe::http::detail {

namespace beast = boost::beast;

using parsed_request = beast::http::request<beast::http::string_body>;

struct with_status {
  unsigned status = 0;
};

/// A response that can write itself, whatever the type of its body. A message_generator does not
/// reveal its status, so the status is kept beside it.
class reply : public with_status, public beast::http::message_generator {
 public:
  template <class Body>
  reply(beast::http::response<Body>&& m)
      : with_status{m.result_int()}, beast::http::message_generator(std::move(m)) {}
};

}  // namespace troupe::http::detail
