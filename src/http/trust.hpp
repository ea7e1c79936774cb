// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <filesystem>
#include <string>

#include <troupe/net/socket.hpp>

// How a client verifies the identity of a server.

namespace troupe::http::detail {

/// A context for connections whose other end has to prove its identity: TLS 1.2 or later, with the
/// certificates of a PEM file or, if the path is empty, those that the system trusts.
///
/// Errors: std::invalid_argument if they cannot be read.
[[nodiscard]] boost::asio::ssl::context trusting(const std::filesystem::path& certificates);

/// Sets the expected host name, which the certificate has to contain. Call it before the handshake.
///
/// Errors: std::runtime_error if OpenSSL has no memory for that.
void expect_host(SSL* in, const std::string& host);

/// A readable reason for a failed handshake. If the certificate caused it, the reason says what is
/// wrong with it.
[[nodiscard]] std::string handshake_failure(SSL* in, const std::string& host,
                                            const net::error_code& error);

}  // namespace troupe::http::detail
