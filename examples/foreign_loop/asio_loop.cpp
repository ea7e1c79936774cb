// SPDX-License-Identifier: Apache-2.0

// Actors in an io_context that the program runs itself. Each tick of an Asio timer sends a request
// to the worker; the results arrive at the window, on this thread.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>

#include <troupe/net/asio_pump.hpp>
#include <troupe/troupe.hpp>

#include "primes.hpp"

namespace {

/// Sends `times` requests, one every ten milliseconds.
class asker {
 public:
  asker(boost::asio::io_context& on, troupe::ref<mathematician> computes, int times)
      : timer_(on), computes_(std::move(computes)), times_(times) {
    wait();
  }

 private:
  void wait() {
    timer_.expires_after(std::chrono::milliseconds(10));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      computes_.send(count_primes{1000 * ++asked_});
      if (asked_ < times_) wait();
    });
  }

  boost::asio::steady_timer timer_;
  troupe::ref<mathematician> computes_;
  const int times_;
  int asked_ = 0;
};

void run() {
  constexpr int lines = 5;
  boost::asio::io_context context{1};
  troupe::system system;
  troupe::net::asio_pump actors(system, context);
  const auto shows = system.spawn<window>({.where = troupe::bound_to(actors.pump())}, lines,
                                          [&] { actors.release_work(); });
  const auto computes = system.spawn<mathematician>(shows);

  const asker asks(context, computes, lines);
  context.run();  // until the window has closed and the timer is done
}

}  // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "asio_loop: %s\n", e.what());
    return 1;
  }
}
