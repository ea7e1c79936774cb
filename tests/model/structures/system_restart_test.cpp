// SPDX-License-Identifier: Apache-2.0
// Restarts in a whole system. The fate of an actor between two incarnations is decided once, and
// the next incarnation is ordered after all work of the previous one, on whichever thread.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>
#include <troupe/detail/actor/actor_type.hpp>
#include <troupe/detail/actor/incarnations.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct fail {};
struct count {};

// State that the incarnations leave to each other, and that the test reads.
struct past {
  plain<int> alive{0};
  plain<int> made{0};
  plain<int> counted{0};
  plain<int> prepared{0};
  atomic<bool> tells{false};
  atomic<bool> is_decided{false};
  mutex guard;
  bool is_over = false;     // guarded by the mutex
  bool has_object = false;  // guarded by the mutex; only for actors that restart at once
};

class fragile : public actor {
 public:
  explicit fragile(past& of) : past_(of) {
    require(past_.alive == 0, "one object at a time");
    past_.alive = 1;
    past_.made = past_.made + 1;
  }
  ~fragile() { past_.alive = 0; }
  void on(fail) { throw std::runtime_error("why not"); }
  void on(count) { past_.counted = past_.counted + 1; }

 private:
  past& past_;
};

// Like a supervisor's record of a child. A thread that ends the child records this before it tries
// to decide, and the actor checks it after the point from which others could decide.
class again final : public detail::incarnations {
 public:
  explicit again(past& of) : past_(of) {}
  void construct(void* place) override { ::new (place) fragile(past_); }
  void started() noexcept override {}
  bool comes_back(exit_reason) noexcept override {
    const std::lock_guard lock(past_.guard);
    return !past_.is_over;
  }
  void ended(exit_reason why, std::string_view) noexcept override {
    detail::control_block& me = *detail::this_turn().running;
    bool is_over = false;
    {
      const std::lock_guard lock(past_.guard);
      is_over = past_.is_over;
    }
    if (is_over) (void)end_for_good(me, why);
  }
  bool forgets_mailbox() const noexcept override { return false; }

 private:
  past& past_;
};

// Restarts by itself until it is stopped.
class at_once final : public detail::incarnations {
 public:
  explicit at_once(past& of) : past_(of) { past_.has_object = true; }
  void construct(void* place) override { ::new (place) fragile(past_); }
  void started() noexcept override {}
  bool comes_back(exit_reason why) noexcept override {
    const std::lock_guard lock(past_.guard);
    past_.has_object = false;
    return why != exit_reason::stopped;
  }
  void ended(exit_reason, std::string_view) noexcept override {
    detail::control_block& me = *detail::this_turn().running;
    {
      const std::lock_guard lock(past_.guard);
      past_.has_object = true;
    }
    (void)begin_incarnation(me);
  }
  bool forgets_mailbox() const noexcept override { return false; }

 private:
  past& past_;
};

system_options quiet(unsigned workers) {
  system_options all = small(workers);
  all.on_failure = [](const failure&) {};
  return all;
}

template <class Incarnations = again>
ref<fragile> spawn(troupe::system& in, past& of) {
  auto made = detail::ref_access::adopt<fragile>(
      &make_between(in, detail::actor_type_of<fragile>, {}, std::make_unique<Incarnations>(of)));
  require(begin_incarnation(detail::ref_access::block(made)), "the first one is decided on here");
  return made;
}

void end(const ref<fragile>& it, past& of) {
  {
    const std::lock_guard lock(of.guard);
    of.is_over = true;
  }
  it.stop();
  (void)end_for_good(detail::ref_access::block(it), exit_reason::stopped);
}

TEST(restart, the_next_incarnation_sees_all_work_of_the_previous_one) {
  expect_holds({.random = 5'000}, [] {
    past all;
    {
      troupe::system system{quiet(2)};
      const auto it = spawn(system, all);
      it.send(fail{});
      {
        jthread other([&] { (void)begin_incarnation(detail::ref_access::block(it)); });
      }
      end(it, all);
    }
    require(all.alive == 0, "it has ended");
    require(all.made == 1 || all.made == 2, "one or two objects");
    varies(all.made == 2, "there is a second one");
  });
}

TEST(restart, one_of_several_decides) {
  expect_holds({.random = 3'000}, [] {
    past all;
    int begun = 0;
    {
      troupe::system system{quiet(1)};
      const auto it = spawn(system, all);
      it.send(fail{});
      {
        jthread other([&] { begun += begin_incarnation(detail::ref_access::block(it)) ? 1 : 0; });
      }
      it.stop_now();
      end(it, all);
    }
    require(all.alive == 0, "it has ended");
    require(all.made == 1 + begun, "an object for each decision that there shall be one");
    varies(begun == 1, "it is decided that there shall be one");
  });
}

TEST(restart, messages_sent_meanwhile_are_handled_by_the_next_incarnation) {
  expect_holds({.random = 3'000}, [] {
    past all;
    bool begun = false;
    {
      troupe::system system{quiet(1)};
      const auto it = spawn(system, all);
      it.send(fail{});
      {
        jthread sender([&] { it.send(count{}); });
        jthread other([&] { begun = begin_incarnation(detail::ref_access::block(it)); });
      }
      end(it, all);
    }
    require(!varies(begun, "there is a next object") || all.counted == 1,
            "it is handled if there is a next object");
  });
}

// Like `again`, and it also writes to itself while it is notified.
class again_and_counts final : public detail::incarnations {
 public:
  explicit again_and_counts(past& of) : supervised_(of) {}
  ~again_and_counts() override { told_ = -1; }
  void construct(void* place) override { supervised_.construct(place); }
  void started() noexcept override {}
  bool comes_back(exit_reason why) noexcept override { return supervised_.comes_back(why); }
  void ended(exit_reason why, std::string_view what) noexcept override {
    supervised_.ended(why, what);
    told_ = told_ + 1;
  }
  bool forgets_mailbox() const noexcept override { return false; }

 private:
  again supervised_;
  plain<int> told_{0};
};

TEST(restart, the_factory_stays_until_a_termination_has_been_reported) {
  expect_holds({.random = 5'000}, [] {
    past all;
    {
      troupe::system system{quiet(2)};
      const auto it = spawn<again_and_counts>(system, all);
      it.send(fail{});
      it.stop_now();
      end(it, all);
    }
    require(all.alive == 0, "it has ended");
    require(all.made == 1, "nobody has decided that there shall be another one");
  });
}

// The second incarnation needs state that was prepared before the decision to restart.
class again_with_what_is_prepared final : public detail::incarnations {
 public:
  explicit again_with_what_is_prepared(past& of) : supervised_(of), past_(of) {}
  void construct(void* place) override {
    require(objects_++ == 0 || past_.prepared == 1, "it is prepared");
    supervised_.construct(place);
  }
  void started() noexcept override {}
  bool comes_back(exit_reason why) noexcept override { return supervised_.comes_back(why); }
  void ended(exit_reason why, std::string_view what) noexcept override {
    supervised_.ended(why, what);
    if (objects_ > 1) return;
    // The decision is made during this notification. Only the decision publishes the work before
    // it.
    past_.tells.store(true, release);
    while (!past_.is_decided.load(relaxed)) cpu_relax();
  }
  bool forgets_mailbox() const noexcept override { return false; }

 private:
  again supervised_;
  past& past_;
  int objects_ = 0;
};

TEST(restart, the_next_incarnation_sees_writes_before_the_decision) {
  expect_holds({.random = 5'000}, [] {
    past all;
    {
      troupe::system system{quiet(2)};
      const auto it = spawn<again_with_what_is_prepared>(system, all);
      it.send(fail{});
      {
        jthread other([&] {
          while (!all.tells.load(acquire)) cpu_relax();
          all.prepared = 1;
          require(begin_incarnation(detail::ref_access::block(it)), "nobody has decided yet");
          all.is_decided.store(true, relaxed);
        });
      }
      end(it, all);
    }
    require(all.alive == 0, "it has ended");
    require(all.made == 2, "the decision holds");
  });
}

// If the stop is lost, join() waits forever.
TEST(restart, a_stop_is_not_lost_while_the_incarnation_ends_for_another_reason) {
  expect_holds({.random = 5'000}, [] {
    past all;
    troupe::system system{quiet(1)};
    const auto it = spawn<at_once>(system, all);
    {
      jthread stops([&] { it.stop(); });
      it.send(fail{});
      const std::lock_guard lock(all.guard);
      if (varies(all.has_object, "it has an object")) end_object(detail::ref_access::block(it));
    }
    require(it.join() == exit_reason::stopped, "nobody else ends it");
    require(all.made >= 1 && all.made <= 3, "a next object for each of the other reasons at most");
    varies(all.made == 1, "it does not come back");
    varies(all.made == 3, "it comes back twice");
  });
}

}  // namespace
}  // namespace troupe
