// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/placement.hpp>
#include <troupe/actor/pump.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/priority.hpp>
#include <troupe/supervision/child.hpp>
#include <troupe/supervision/supervisor.hpp>

#include "actor/test_support.hpp"

// Shared by the tests of supervisors: a child that records its life cycle in a journal, and a stage
// that runs the supervisor and its children.

namespace troupe::test {

struct fail {
  std::string why;
};
struct say {
  std::string text;
};
struct which_object {};
struct urgent {
  static constexpr auto priority = troupe::priority::high;
};

/// Restarts without a limit and without a delay.
inline constexpr supervision at_once{
    .max_restarts = supervision::unlimited, .min_backoff = 0ms, .max_backoff = 0ms};

/// The actions of a child apart from writing to the journal. Shared by all its incarnations and the
/// test.
struct script {
  explicit script(std::string its_name) : name(std::move(its_name)) {}

  const std::string name;
  journal log;
  journal* also = nullptr;  // shared by several children
  atomic<int> objects{0};   // constructed so far
  atomic<int> alive{0};
  std::function<void(int object)> in_constructor = {};
  std::function<void(int object)> at_start = {};
  std::function<void()> at_stop = {};

  void write(const std::string& what) {
    log.write(what);
    if (also != nullptr) also->write(name + ' ' + what);
  }
};

class pupil : public actor {
 public:
  explicit pupil(script& does) : does_(does), object_(++does.objects) {
    if (does_.in_constructor) does_.in_constructor(object_);
    does_.write("made");
    ++does_.alive;
  }
  ~pupil() {
    --does_.alive;
    does_.write("destroyed");
  }

  void on_start() {
    if (does_.at_start) does_.at_start(object_);
    does_.write("started");
  }
  void on_stop() {
    if (does_.at_stop) does_.at_stop();
    does_.write("stopped");
  }
  void on(const fail& m) { throw std::runtime_error(m.why); }
  void on(const say& m) { does_.write(m.text); }
  int on(which_object) { return object_; }
  void on(const std::function<void(pupil&)>& what) { what(*this); }

  using actor::link;
  using actor::system;
  using actor::watch;
  void on(const down& d) { does_.write("down: " + std::string(to_string(d.reason))); }
  [[nodiscard]] self_ref<pupil> me() { return self(this); }

 private:
  script& does_;
  const int object_;
};

/// A supervisor and its children, all on the test's thread.
struct school : stage {
  child_spec pupil_of(script& does) {
    return child<pupil>(does.name, std::ref(does)).options({.where = bound_to(pump)});
  }
  template <class... Children>
  ref<supervisor> open(const supervision& rules, const Children&... children) {
    head = spawn<supervisor>(rules, child_spec(children)...);
    play();
    return head;
  }
  template <class A = pupil>
  ref<A> find(const std::string& name) {
    auto answer = head.ask<find_child<A>>(patience, name);
    play();
    return std::move(answer).get().value();
  }
  std::vector<child_status> list() {
    auto answer = head.ask<list_children>(patience);
    play();
    return std::move(answer).get().value();
  }
  template <class Handle, class Message>
  void tell(const Handle& whom, Message message) {
    whom.send(std::move(message));
    play();
  }
  /// Plays until the condition holds. Used for effects of timers.
  template <class Condition>
  [[nodiscard]] bool play_until(Condition&& condition) {
    return eventually([&] {
      play();
      return condition();
    });
  }

  ref<supervisor> head;
};

template <class A, class Script>
struct clinic_scripts {
  Script does{"a"};
  script other{"b"};
  journal log;
};

/// The only child of a supervisor, and the data that outlives the child.
template <class A, class Script = script>
struct clinic : clinic_scripts<A, Script>, school {
  template <class... More>
  void open(const More&... more) {
    open_spec(child<A>("a", std::ref(this->does), more...).options({.where = bound_to(pump)}));
  }
  void open_spec(const child_spec& spec) {
    school::open(at_once, spec);
    it = find<A>("a");
  }
  template <class Message>
  void tell(Message message) {
    it.send(std::move(message));
    play();
  }
  void let_it(std::function<void(pupil&)> what) { tell(std::move(what)); }

  ref<A> it;
};

}  // namespace troupe::test
