// SPDX-License-Identifier: Apache-2.0
// The ways in which an actor terminates in a whole system: by its last reference, by stop_now(),
// and with a thread waiting.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/supervision/router.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

// ── The last reference ────────────────────────────────────────────────────────────────────────

// Notifies when it has terminated, so that no reference may keep it until the end of the system.
class mortal : public counter {
 public:
  mortal(record& done, parker& ended) : counter(done), ended_(ended) {}
  ~mortal() { ended_.notify(); }

 private:
  parker& ended_;
};

TEST(last_reference, released_by_two_threads_during_a_visit_terminates_the_actor_once) {
  expect_holds({.random = 5'000}, [] {
    record done;
    parker ended;
    int sent = 0;
    {
      troupe::system all{small()};
      ref<mortal> one = all.spawn<mortal>(done, ended);
      ref<mortal> copy = one;
      const weak_ref<mortal> weak = one;
      jthread first([&] { one = {}; });
      jthread second([&] { copy = {}; });
      if (const ref<mortal> again = weak.lock(); varies(static_cast<bool>(again), "it lives")) {
        require(again.send(add{1}) == delivery::accepted, "who holds it reaches it");
        ++sent;
      }
      ended.park();
    }
    require(done.ends == 1, "it ends once");
    require(done.sum == sent, "after all that it was sent");
  });
}

TEST(last_reference, shows_the_work_of_both_threads_to_the_destructor) {
  struct last_words {
    plain<int> here{0};
    plain<int> there{0};
  };
  class reader : public actor {
   public:
    reader(last_words& of, parker& ended) : of_(of), ended_(ended) {}
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;
    ~reader() {
      require(of_.here == 1 && of_.there == 1, "what was done through references comes before");
      ended_.notify();
    }

   private:
    last_words& of_;
    parker& ended_;
  };
  expect_holds({.random = 3'000}, [] {
    last_words words;
    parker ended;
    troupe::system all{small()};
    ref<reader> one = all.spawn<reader>(words, ended);
    ref<reader> copy = one;
    jthread other([&] {
      words.there = 1;
      copy = {};
    });
    words.here = 1;
    one = {};
    ended.park();
  });
}

// ── stop_now ──────────────────────────────────────────────────────────────────────────────────

TEST(stop_now, each_message_is_handled_or_becomes_a_dead_letter) {
  expect_holds({.random = 5'000}, [] {
    record done;
    atomic<int> dead{0};
    int refused = 0;
    {
      system_options options = small();
      options.on_dead_letter = [&](const dead_letter&) { dead.fetch_add(1, relaxed); };
      troupe::system all{std::move(options)};
      const ref<counter> one = all.spawn<counter>(done);
      jthread sender([&] {
        for (int i = 0; i < 3; ++i) refused += one.send(add{1}) == delivery::refused ? 1 : 0;
      });
      one.stop_now();
      require(one.join() == exit_reason::stopped_now, "it ends by it");
    }
    require(done.sum + dead.load(relaxed) == 3, "none is lost, and none counts twice");
    require(refused <= dead.load(relaxed), "what is refused is a dead letter");
    varies(done.sum > 0, "some are handled");
    varies(refused > 0, "some are refused");
    varies(dead.load(relaxed) > refused, "some are left over");
  });
}

TEST(stop_now, overtakes_messages_that_were_sent_before) {
  expect_holds({.random = 2'000}, [] {
    class stopped_at_one : public actor {
     public:
      void on(add m) {
        require(m.by == 1, "it has ended by then");
        self(this).stop_now();
      }
    };
    troupe::system all{small(2)};
    const auto one = all.spawn<stopped_at_one>();
    one.send(add{1});
    one.send(add{2});
    require(one.join() == exit_reason::stopped_now, "it ends by it");
  });
}

// ── join ──────────────────────────────────────────────────────────────────────────────────────

TEST(join, returns_after_all_that_the_actor_did) {
  expect_holds({.random = 3'000}, [] {
    record done;
    troupe::system all{small()};
    const ref<counter> one = all.spawn<counter>(done);
    const auto wait = [&] {
      require(one.join() == exit_reason::stopped, "it says why");
      require(done.sum == 1 && done.ends == 1, "all that it did is seen");
    };
    jthread other(wait);
    one.send(add{1});
    one.stop();
    wait();
  });
}

TEST(join, reports_at_the_deadline_whether_the_actor_has_terminated) {
  expect_holds({.random = 3'000}, [] {
    record done;
    troupe::system all{small()};
    const ref<counter> one = all.spawn<counter>(done);
    jthread other([&] { one.stop(); });
    if (varies(one.join_for(std::chrono::hours(1)).has_value(), "it has ended")) {
      require(done.ends == 1, "who is told so sees all of its end");
    } else {
      require(one.join() == exit_reason::stopped, "it is still to come");
    }
  });
}

// ── Without an object ─────────────────────────────────────────────────────────────────────────

struct handed_out;

// Gives out a reference to itself, and then fails.
class stillborn : public actor {
 public:
  explicit stillborn(handed_out& to);
};

struct handed_out {
  parker given;
  ref<stillborn> who;
  plain<int> last_words{0};
};

stillborn::stillborn(handed_out& to) {
  to.who = self(this);
  to.given.notify();
  to.last_words = 1;
  throw std::runtime_error("no");
}

TEST(join, returns_when_the_constructor_has_thrown) {
  expect_holds({.random = 3'000}, [] {
    handed_out to;
    troupe::system all{small()};
    jthread spawner([&] {
      try {
        (void)all.spawn<stillborn>(to);
        require(false, "spawn() throws what the constructor throws");
      } catch (const std::runtime_error&) {
      }
    });
    to.given.park();
    require(to.who.join() == exit_reason::failed, "it says why");
    require(to.last_words == 1, "all that it did is seen");
  });
}

// ── Systems side by side ──────────────────────────────────────────────────────────────────────

// Records the thread in which it was destroyed.
struct belonging {
  explicit belonging(thread_id& ended) : ended_in(ended) {}
  belonging(const belonging&) = delete;
  belonging& operator=(const belonging&) = delete;
  ~belonging() { ended_in = this_thread_id(); }
  thread_id& ended_in;
};

TEST(system, a_walk_over_its_actors_frees_nothing_of_another_system) {
  expect_holds({.random = 2'000}, [] {
    struct by_sum {
      std::shared_ptr<belonging> its;
      int operator()(const add& m) const { return m.by; }
    };
    record done;
    thread_id ended_in{};
    {
      troupe::system second{small()};
      recipient<add> last;
      {
        troupe::system first{small()};
        const std::vector<ref<counter>> workers{first.spawn<counter>(done)};
        last = router<add>(first, workers, by_hash{by_sum{std::make_shared<belonging>(ended_in)}});
      }
      jthread walker([&] { (void)second.overloaded_actors(); });
      last = {};  // the router's slot, and the state that it owns
    }
    require(ended_in == this_thread_id(), "whoever lets go of the last reference frees it");
  });
}

}  // namespace
}  // namespace troupe
