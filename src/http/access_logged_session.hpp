// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/http/access.hpp>
#include <troupe/http/session.hpp>

namespace troupe::http::detail {

/// A session whose end is reported to http::options::on_access, with the counts of its messages
/// until then.
///
/// Threads: the loop's, like those of the wrapped session.
class access_logged_session final : public session_port {
 public:
  /// `client` is the WebSocket of the session.
  access_logged_session(std::unique_ptr<session_port> to, const websocket& client,
                        const std::function<void(const access&)>& on_access)
      : to_(std::move(to)), client_(client), on_access_(on_access) {}

  handed_over deliver(text&& m) override { return counted(std::move(m)); }
  handed_over deliver(binary&& m) override { return counted(std::move(m)); }
  void deliver(closed&& m) override {
    on_access_({.what = access::kind::websocket,
                .peer = client_.peer(),
                .method = "GET",
                .target = client_.upgrade_request().target(),
                .status = m.code,
                .bytes = bytes_,
                .took = clock::now() - began_});
    to_->deliver(std::move(m));
  }
  void deliver(mark&& m) override { to_->deliver(std::move(m)); }
  address who() const noexcept override { return to_->who(); }

 private:
  template <class M>
  handed_over counted(M&& m) {
    const std::size_t bytes = m.data.size();
    const handed_over what = to_->deliver(std::move(m));
    if (what == handed_over::taken || what == handed_over::taken_when_full) bytes_ += bytes;
    return what;
  }

  const std::unique_ptr<session_port> to_;
  const websocket client_;
  const std::function<void(const access&)>& on_access_;  // the site's
  const time_point began_ = clock::now();
  std::uint64_t bytes_ = 0;
};

}  // namespace troupe::http::detail
