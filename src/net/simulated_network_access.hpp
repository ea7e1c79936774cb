// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include <troupe/net/simulated_socket.hpp>

namespace troupe::net::detail {

class listening;

/// Returns null if there is no simulation, or if it cannot listen; the error then says why. Throws
/// std::logic_error if there is a simulation without a network.
[[nodiscard]] std::unique_ptr<simulated_acceptor> simulated_listener(boost::asio::io_context& on,
                                                                     const endpoint& at,
                                                                     error_code& error);

}  // namespace troupe::net::detail
