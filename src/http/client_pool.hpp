// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <troupe/http/client.hpp>
#include <troupe/net/loop.hpp>

#include "outgoing_connection.hpp"

namespace troupe::http::detail {

/// No duration is longer: larger values could overflow in arithmetic with time points.
inline constexpr std::chrono::milliseconds time_max = std::chrono::hours(24);

/// The connections of a client, and the requests that wait for one.
///
/// Waiting requests are served in order. A request whose host already has all its allowed
/// connections lets others pass. Where no space is left for another connection, the one that has
/// been kept for the longest time is closed.
///
/// Threads:   the loop's, except for the constructor.
/// Invariant: connections and bytes stay within client_options. Each errand is answered once.
class client_pool final : public outgoing_connection::pool {
 public:
  client_pool(net::loop& on, client_options options);

  /// `call` is called when tick() has to run by a certain time.
  void on_due(std::function<void(time_point)> call) { call_by_ = std::move(call); }

  void begin(std::shared_ptr<errand> which);
  /// Does what is due, and returns when it has to be called next.
  time_point tick(time_point now);
  /// Fails everything, because the client terminates.
  void abandon() noexcept;

  [[nodiscard]] net::loop& loop() const noexcept { return loop_; }
  [[nodiscard]] const client_options& options() const noexcept { return options_; }
  /// Created when first needed. Errors: as trusting().
  [[nodiscard]] boost::asio::ssl::context& trust();
  [[nodiscard]] client_statistics statistics() const noexcept;
  /// A share for one more request that counts in client_options::bytes_max.
  [[nodiscard]] std::shared_ptr<byte_share> share() const {
    return std::make_shared<byte_share>(bytes_);
  }
  /// Returns why this URL must not be connected to, or nothing if it may be.
  [[nodiscard]] std::optional<std::string> forbidden(const url& to) const;

 private:
  using connection = std::shared_ptr<outgoing_connection>;

  void finished(std::shared_ptr<errand> which, fetched result) override;
  void failed_when_kept(std::shared_ptr<errand> which, fetched result) override;
  void dialed() override { ++counts_.connected; }
  void changed() override { serve(); }
  void call_by(time_point due) override {
    if (call_by_) call_by_(due);
  }

  void enqueue(std::shared_ptr<errand> which);
  [[nodiscard]] bool follow(errand& which, fetched& result);
  void answer(errand& which, fetched result);
  void serve();
  [[nodiscard]] bool serve(const std::shared_ptr<errand>& which);
  [[nodiscard]] bool serve_somehow(const std::shared_ptr<errand>& which);
  void dial(const std::shared_ptr<errand>& which);
  [[nodiscard]] bool make_room();
  void sweep();

  net::loop& loop_;
  const client_options options_;
  std::optional<boost::asio::ssl::context> trust_;
  std::function<void(time_point)> call_by_;
  std::vector<connection> connections_;
  std::deque<std::shared_ptr<errand>> waiting_;
  const std::shared_ptr<byte_gauge> bytes_;
  client_statistics counts_;
  bool serving_ = false;
  bool again_ = false;
};

}  // namespace troupe::http::detail
