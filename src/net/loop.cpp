// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/loop.hpp>

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <exception>
#include <semaphore>
#include <utility>

#include <troupe/net/asio_pump.hpp>
#include <troupe/sync/thread.hpp>

namespace troupe::net {

struct loop::state {
  explicit state(std::string called) : name(std::move(called)) {}

  const std::string name;
  boost::asio::io_context context{1};  // one thread runs it
  std::binary_semaphore pump_is_there{0};
  troupe::thread thread;
};

loop::loop(troupe::system& on, std::string name)
    : state_(std::make_unique<state>(std::move(name))) {
  state_->thread = start_thread(state_->name, [this, &on] { run(on); });
  state_->pump_is_there.acquire();
}

loop::~loop() {
  state_->context.stop();
  state_->thread.join();
}

boost::asio::io_context& loop::context() noexcept { return state_->context; }

void loop::run(troupe::system& on) {
  boost::asio::io_context& context = state_->context;
  asio_pump pump{on, context};
  pump_ = &pump.pump();
  state_->pump_is_there.release();

  while (!context.stopped()) {
    try {
      context.run();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "troupe: %s: a completion handler failed: %s\n", state_->name.c_str(),
                   e.what());
    } catch (...) {
      std::fprintf(stderr, "troupe: %s: a completion handler failed\n", state_->name.c_str());
    }
  }
}

}  // namespace troupe::net
