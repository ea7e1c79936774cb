// SPDX-License-Identifier: Apache-2.0

#include "connection.hpp"
#include "http_steps.hpp"
#include "websocket_steps.hpp"

// Instantiates the templates over Asio and Beast for sockets with TLS.

namespace troupe::http::detail {

template class basic_connection<tls_socket>;
template class http_stage<tls_socket>;
template class websocket_stage<tls_socket>;

}  // namespace troupe::http::detail
