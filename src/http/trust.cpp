// SPDX-License-Identifier: Apache-2.0

#include "trust.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>
#include <stdexcept>

namespace troupe::http::detail {

namespace ssl = boost::asio::ssl;

ssl::context trusting(const std::filesystem::path& certificates) {
  ssl::context result(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(result.native_handle(), TLS1_2_VERSION);
  result.set_verify_mode(ssl::verify_peer);
  net::error_code error;
  certificates.empty() ? result.set_default_verify_paths(error)
                       : result.load_verify_file(certificates.string(), error);
  if (error) {
    throw std::invalid_argument(
        (certificates.empty() ? std::string("the trusted certificates of this system")
                              : "the trusted certificates in " + certificates.string()) +
        " cannot be read: " + error.message() +
        "; they must be a file with certificates in PEM format (-----BEGIN CERTIFICATE-----)");
  }
  return result;
}

void expect_host(SSL* in, const std::string& host) {
  net::error_code error;
  boost::asio::ip::make_address(host, error);
  X509_VERIFY_PARAM* const rules = SSL_get0_param(in);
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool did = error ? X509_VERIFY_PARAM_set1_host(rules, host.data(), host.size()) == 1 &&
                               SSL_set_tlsext_host_name(in, host.c_str()) == 1
                         : X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1;
  if (!did) throw std::runtime_error("OpenSSL rejects the host name " + host);
}

std::string handshake_failure(SSL* in, const std::string& host, const net::error_code& error) {
  const long verdict = SSL_get_verify_result(in);
  std::string text = "the TLS handshake with " + host + " failed: ";
  if (verdict == X509_V_OK) return text += error.message();
  text += "its certificate is not trusted: ";
  return text += X509_verify_cert_error_string(verdict);
}

}  // namespace troupe::http::detail
