// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/http/fetch.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/net/socket.hpp>

#include "outgoing_stream.hpp"
#include "url.hpp"

namespace troupe::http::detail {

/// The result of a dialing: a stream, or the reason for its failure.
struct dialed {
  client_error error = client_error::none;
  std::string why = {};
  std::unique_ptr<outgoing_stream> stream = {};
};

/// Connects to the host of a URL: resolves its name, tries the addresses one at a time, and does
/// the TLS handshake if required.
///
///   resolving ──▶ connecting ──▶ shaking hands ──▶ over
///                 ▲        │
///                 └ the next address, each with its share of the time
///
/// Threads:   the loop's.
/// Invariant: told::done is called once, in a completion handler or in tick(), or never after
///            abandon().
class dialing : public std::enable_shared_from_this<dialing> {
 public:
  struct told {
    std::function<void(time_point)> call_by;  // tick() has to be called by then
    std::function<void(dialed)> done;
  };

  /// `trust` must outlive this object; null means without TLS.
  dialing(net::loop& on, url to, boost::asio::ssl::context* trust, time_point due, told who);

  void begin();
  /// Does what is due, and returns when it has to be called next.
  time_point tick(time_point now);
  void abandon() noexcept;

 private:
  using resolver = boost::asio::ip::basic_resolver<net::protocol, net::io_context::executor_type>;

  template <class Step>
  auto then(Step step);

  void resolved(net::error_code error, const resolver::results_type& found);
  void connect();
  void connected(net::error_code error);
  void shaken_hands(net::error_code error);
  void fail(client_error what, std::string why);
  void finish(dialed with);

  net::io_context& on_;
  const url to_;
  boost::asio::ssl::context* const trust_;
  const time_point due_;
  told told_;  // over if told::done is empty
  resolver resolver_;
  std::vector<net::protocol::endpoint> left_;  // addresses, the next one last
  std::unique_ptr<outgoing_stream> stream_;
  SSL* tls_ = nullptr;  // belongs to the stream
  time_point attempt_due_;
  std::uint64_t attempt_ = 0;
  std::string last_;  // why the last address failed
};

}  // namespace troupe::http::detail
