// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <troupe/http/handler.hpp>
#include <troupe/http/request.hpp>
#include <troupe/http/response.hpp>
#include <troupe/troupe.hpp>

#include "body_budget.hpp"

namespace troupe::http::detail {

struct server_context;

/// To a connection: the result of a handler that is a coroutine.
struct handled {
  std::uint64_t number = 0;  // that of the request
  response with;
  bool failed = false;  // an exception has left the handler
};

/// Runs the coroutine that handles one request. If this actor is stopped at once, the coroutine is
/// destroyed with its local objects, and its waits are cancelled.
///
/// A connection does not run coroutines itself: while a handler waits, it has to act on time-outs
/// and on the end of the client, even if the handler is suspended at a full mailbox.
///
/// Threads:   where the route says; otherwise those of the connection.
/// Invariant: sends at most one response, and then terminates. The request, its share of the memory
///            for bodies and the server's handlers exist until it has terminated.
class request_handler : public actor {
 public:
  struct begin {};

  request_handler(recipient<handled> to, std::uint64_t number,
                  std::shared_ptr<const server_context> of, const handler& how, request asked,
                  body_share share)
      : to_(std::move(to)),
        number_(number),
        of_(std::move(of)),
        how_(how),
        share_(std::move(share)),
        asked_(std::move(asked)) {
    count(1);
  }
  ~request_handler() { count(-1); }

  task<> on(begin);

 private:
  void count(int change) const noexcept;

  const recipient<handled> to_;
  const std::uint64_t number_;
  const std::shared_ptr<const server_context> of_;
  const handler& how_;
  body_share share_;
  request asked_;
};

}  // namespace troupe::http::detail
