// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/beast/core/buffers_generator.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/http/message_generator.hpp>

namespace troupe::http::detail {

namespace beast = boost::beast;

using parsed_request = beast::http::request<beast::http::string_body>;

/// A response that knows how to write itself, whatever its body is.
using reply = beast::http::message_generator;

}  // namespace troupe::http::detail
