// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/actor/all.hpp>
#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>

#include "test_support.hpp"

// Shared by the tests of requests: a responder that replies in every possible way, and an actor
// whose handlers the test supplies.

namespace troupe::test {

struct add {
  int a;
  int b;
};
struct greet {
  std::string name;
};
struct give {
  std::unique_ptr<int> what;
};
struct break_down {};
struct answer_later {};
struct answer_now {
  int with;
};
struct who_asks {};

/// Replies in every possible way.
class oracle : public actor {
 public:
  int on(add m) { return m.a + m.b; }
  std::string on(const greet& m) { return "hello " + m.name; }
  std::unique_ptr<int> on(give m) { return std::move(m.what); }
  int on(break_down) { throw std::runtime_error("broken"); }
  void on(answer_later, reply<int> owed) { owed_.push_back(std::move(owed)); }
  void on(answer_now m) {
    if (owed_.empty()) return;
    owed_.back().set_value(m.with);
    owed_.pop_back();
  }
  bool on(who_asks, address sender) { return static_cast<bool>(sender); }

 private:
  std::vector<reply<int>> owed_;
};

/// Runs a function of the test as a handler that is a coroutine.
struct work {
  std::function<task<>(class asker_actor&)> what;
};
struct exclusive_work {
  std::function<task<>(class asker_actor&)> what;
};

class asker_actor : public actor {
 public:
  explicit asker_actor(journal& to) : log(to) {}
  ~asker_actor() { log.write("destroyed"); }
  task<> on(work m) { co_await m.what(*this); }
  exclusive_task<> on(exclusive_work m) { co_await m.what(*this); }
  void on(const note& n) { log.write(n.text); }
  task<int> on(add m) {
    co_await sleep_for(1ms);
    co_return m.a + m.b;
  }
  journal& log;
};

template <class T>
std::string text(const ask_result<T>& r) {
  return r ? "value" : std::string(to_string(r.error()));
}

/// A requester, a responder, and a responder that replies only when the test plays.
struct talk {
  void begin(std::function<task<>(asker_actor&)> what) { who.send(work{std::move(what)}); }

  journal log;
  stage on;
  ref<oracle> it = on.system.spawn<oracle>();
  ref<oracle> silent = on.spawn<oracle>();
  ref<asker_actor> who = on.system.spawn<asker_actor>(log);
};

}  // namespace troupe::test
