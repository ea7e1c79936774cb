// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <filesystem>
#include <string>

#include <troupe/net/socket.hpp>

// Whom a client believes that it talks to the right one.

namespace troupe::http::detail {

/// For connections whose other end has to prove who it is: TLS 1.2 or later, by the certificates of a PEM
/// file, or, if that is empty, those that the system trusts.
///
/// Errors: std::invalid_argument if they cannot be read.
[[nodiscard]] boost::asio::ssl::context trusting(const std::filesystem::path& certificates);

/// To be called before the handshake: names the host, and has its name looked for in the certificate.
///
/// Errors: std::runtime_error if OpenSSL has no memory for that.
void expect_host(SSL* in, const std::string& host);

/// Why a handshake has failed, for people: what is wrong with the certificate, if it was that.
[[nodiscard]] std::string handshake_failure(SSL* in, const std::string& host,
                                            const net::error_code& error);

}  // namespace troupe::http::detail
