// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/loop.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <exception>
#include <optional>
#include <semaphore>
#include <utility>

#include <troupe/actor/conductor.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/net/asio_pump.hpp>
#include <troupe/sync/thread.hpp>

#include "simulated_context.hpp"

namespace troupe::net {

namespace {

using work = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

/// Calls run(), and reports an exception of a completion handler.
template <class Run>
auto reporting(const std::string& name, Run&& run) noexcept -> decltype(run()) {
  try {
    return run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "troupe: %s: a completion handler failed: %s\n", name.c_str(), e.what());
  } catch (...) {
    std::fprintf(stderr, "troupe: %s: a completion handler failed\n", name.c_str());
  }
  return 1;  // one was called
}

}  // namespace

struct loop::state {
  explicit state(std::string called) : name(std::move(called)) {}
  virtual ~state() = default;

  const std::string name;
  boost::asio::io_context context{1};  // one thread runs it
};

struct loop::with_thread final : state {
  using state::state;

  std::binary_semaphore pump_is_there{0};
  troupe::thread thread;
};

/// The loop in a simulation, which has no thread. The conductor calls the completion handlers one
/// by one, and schedules the actors that are bound to the loop like all others.
struct loop::conducted final : state, troupe::detail::errand {
  conducted(std::string called, std::unique_ptr<troupe::pump> its)
      : state(std::move(called)), pump(std::move(its)) {
    boost::asio::make_service<detail::simulated_context>(context, this);
    troupe::detail::conductor::here()->opened(*this);
  }
  conducted(const conducted&) = delete;
  conducted& operator=(const conducted&) = delete;
  ~conducted() override {
    pump.reset();
    troupe::detail::conductor* const by = troupe::detail::conductor::here();
    TROUPE_EXPECTS(by != nullptr, "a net::loop outlives its simulation: destroy the loop first");
    by->closed(*this);
  }

  // A handler that blocks lets others run meanwhile, but not those of this loop.
  bool run() noexcept override {
    if (is_running_) return false;
    is_running_ = true;
    const bool one_has_run = call_one();
    is_running_ = false;
    return one_has_run;
  }

  bool call_one() noexcept {
    return reporting(name, [this] { return context.poll_one(); }) != 0;
  }

  std::unique_ptr<troupe::pump> pump;
  const work stays{context.get_executor()};
  bool is_running_ = false;
};

loop::loop(troupe::system& on, std::string name) {
  if (std::unique_ptr<troupe::pump> its = troupe::detail::conducted_pump(on)) {
    auto all = std::make_unique<conducted>(std::move(name), std::move(its));
    pump_ = all->pump.get();
    state_ = std::move(all);
    return;
  }
  auto threaded = std::make_unique<with_thread>(std::move(name));
  with_thread& s = *threaded;
  state_ = std::move(threaded);
  s.thread = start_thread(s.name, [this, &s, &on] { run(s, on); });
  s.pump_is_there.acquire();
}

loop::~loop() {
  state_->context.stop();
  if (auto* const threaded = dynamic_cast<with_thread*>(state_.get())) threaded->thread.join();
}

boost::asio::io_context& loop::context() noexcept { return state_->context; }

void loop::run(with_thread& with, troupe::system& on) {
  boost::asio::io_context& context = with.context;
  asio_pump pump{on, context};
  pump_ = &pump.pump();
  with.pump_is_there.release();

  while (!context.stopped()) {
    reporting(with.name, [&] { return context.run(); });
  }
}

}  // namespace troupe::net
