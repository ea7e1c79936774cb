// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: a client on a loop of its own, and a server that some tests do not start.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include <troupe/http/client.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/troupe.hpp>

#include "raw_server.hpp"
#include "test_server.hpp"

namespace troupe::http::test {

class asking_client : public served {
 protected:
  // The server of a test terminates with its connections.
  asking_client() {
    options_.keep_alive_timeout = 1s;
    options_.websocket_limits.close_timeout = 200ms;
  }
  ~asking_client() override {
    client_ = {};
    loop_.reset();
  }

  ref<client>& its() {
    if (!loop_) {
      loop_.emplace(system_, "client");
      client_ = client::spawn(system_, *loop_, options_);
    }
    return client_;
  }
  fetched get(fetch what) { return its().ask<fetch>(no_timeout, std::move(what)).get().value(); }
  fetched get(const std::string& url) {
    fetch what;
    what.url = url;
    return get(std::move(what));
  }
  connected its_answer(connect_websocket what) {
    return its().ask<connect_websocket>(no_timeout, std::move(what)).get().value();
  }
  client_statistics counts() { return its().ask<count_client>(no_timeout).get().value(); }
  std::string url(const std::string& target) const {
    return "http://127.0.0.1:" + std::to_string(server_->port()) + target;
  }

  client_options options_;
  std::optional<net::loop> loop_;
  ref<client> client_;
};

/// Returns text such as "closed: the connection was closed before a response", for matchers.
inline std::string error_text(const fetched& got) {
  return std::string(to_string(got.error)) + ": " + got.why;
}
inline std::string error_text(const connected& got) {
  return std::string(to_string(got.error)) + ": " + got.why;
}

}  // namespace troupe::http::test
