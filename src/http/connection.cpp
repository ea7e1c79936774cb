// SPDX-License-Identifier: Apache-2.0

#include "connection.hpp"

#include "http_steps.hpp"
#include "websocket_steps.hpp"

// Instantiates the templates over Asio and Beast for plain sockets.

namespace troupe::http::detail {

template class basic_connection<net::socket>;
template class http_stage<net::socket>;
template class websocket_stage<net::socket>;

}  // namespace troupe::http::detail
