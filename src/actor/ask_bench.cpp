// SPDX-License-Identifier: Apache-2.0
//
// Measures the time from a request to its reply, on a pool of one worker. The requester is a
// handler that is a coroutine, a handler with a callback, or a thread, which sleeps each time. Each
// request has a time-out. For comparison: two messages, there and back, without an observer, under
// an observer that overrides nothing, and where messages may have, and do have, a trace. Prints
// nanoseconds, and the number of allocations by operator new; blocks from the pool are not counted.
//
//   ask_bench [--smoke] [NAME]

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <memory>
#include <new>
#include <string_view>
#include <troupe/actor/trace.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/troupe.hpp>
#include <utility>

namespace {

using namespace std::chrono_literals;

troupe::atomic<std::uint64_t> allocations{0};

struct question {
  std::uint64_t value;
};
struct answer {
  std::uint64_t value;
};
struct send_to {
  troupe::ref<class client> whom;
  std::uint64_t value;
};
struct messages {
  std::uint64_t count;
};
struct coroutine {
  std::uint64_t count;
};
struct callback {
  std::uint64_t count;
};
struct nested {
  std::uint64_t count;
};

class teller : public troupe::actor {
 public:
  std::uint64_t on(question q) { return q.value + 1; }
  void on(const send_to& m);
};

class client : public troupe::actor {
 public:
  client(troupe::ref<teller> to, std::latch& done) : to_(std::move(to)), done_(done) {}

  void on(messages m) {
    left_ = m.count;
    to_.send(send_to{self(this), 0});
  }
  void on(answer a) {
    if (--left_ == 0) return done_.count_down();
    to_.send(send_to{self(this), a.value});
  }
  troupe::task<> on(coroutine m) {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < m.count; ++i) value = *co_await to_.ask<question>(1s, value);
    done_.count_down();
  }
  troupe::task<> on(nested m) {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < m.count; ++i) value = co_await one(value);
    done_.count_down();
  }
  void on(callback m) {
    left_ = m.count;
    again(0);
  }

 private:
  troupe::task<std::uint64_t> one(std::uint64_t value) {
    co_return *co_await to_.ask<question>(1s, value);
  }
  void again(std::uint64_t value) {
    if (left_-- == 0) return done_.count_down();
    to_.ask<question>(1s, value).then(
        [this](troupe::ask_result<std::uint64_t> got) { again(*got); });
  }

  const troupe::ref<teller> to_;
  std::latch& done_;
  std::uint64_t left_ = 0;
};

void teller::on(const send_to& m) { m.whom.send(answer{m.value + 1}); }

template <class Run>
void report(const char* what, std::uint64_t count, Run&& run) {
  const std::uint64_t before = allocations.load(troupe::relaxed);
  const auto began = troupe::clock::now();
  run();
  const std::chrono::duration<double, std::nano> took = troupe::clock::now() - began;
  const auto times = static_cast<double>(count);
  std::printf("%-34s %9.1f ns %7.3f allocations\n", what, took.count() / times,
              static_cast<double>(allocations.load(troupe::relaxed) - before) / times);
}

template <class Begin>
void by_an_actor(const char* what, std::uint64_t count, troupe::system_options options = {}) {
  options.workers = 1;
  troupe::system system(std::move(options));
  const auto to = system.spawn<teller>();
  std::latch done(1);
  const auto from = system.spawn<client>(to, done);
  report(what, count, [&] {
    from.send(Begin{count});
    done.wait();
  });
}

void by_a_thread(const char* what, std::uint64_t count) {
  troupe::system system({.workers = 1});
  const auto to = system.spawn<teller>();
  report(what, count, [&] {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < count; ++i) value = *to.ask<question>(1s, value).get();
  });
}

}  // namespace

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, troupe::relaxed);
  if (void* const block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

int main(int count, char** arguments) {
  bool smoke = false;
  std::string_view only;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--smoke") == 0) {
      smoke = true;
    } else {
      only = arguments[i];
    }
  }
  const std::uint64_t many = smoke ? 1'000 : 2'000'000;
  const auto wanted = [&](std::string_view name) { return only.empty() || only == name; };
  if (wanted("messages")) by_an_actor<messages>("two messages, there and back", many);
  if (wanted("observed")) {
    by_an_actor<messages>("two messages, observed", many,
                          {.observer = std::make_shared<troupe::observer>()});
  }
  if (wanted("traceable")) {
    by_an_actor<messages>("two messages, traces on", many, {.traces = true});
  }
  if (wanted("traced")) {
    const troupe::trace_scope scope(troupe::new_trace());
    by_an_actor<messages>("two messages, each of a trace", many, {.traces = true});
  }
  if (wanted("coroutine")) by_an_actor<coroutine>("ask, in a coroutine", many);
  if (wanted("nested")) by_an_actor<nested>("ask, in a task that is awaited", many);
  if (wanted("callback")) by_an_actor<callback>("ask, with a callback", many);
  if (wanted("thread")) by_a_thread("ask, by a thread", many / 20);
}
