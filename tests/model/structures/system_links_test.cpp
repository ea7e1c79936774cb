// SPDX-License-Identifier: Apache-2.0
// Links, and waiting for termination, in a whole system. Each actor is notified once, whichever of
// the two is faster.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <chrono>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct link_with {
  address other;
};
struct unlink_from {
  address other;
};

// Is notified of the termination of the other actor.
class told : public counter {
 public:
  told(record& done, plain<int>& downs, parker& heard)
      : counter(done), downs_(downs), heard_(heard) {}
  void on(const link_with& m) { link(m.other); }
  void on(const unlink_from& m) {
    unlink(m.other);
    unlinked_ = true;
    heard_.notify();
  }
  void on(const link_down& d) {
    require(!unlinked_, "nothing comes of a link that is over");
    require(is_abnormal(d.reason), "and it says why");
    downs_ = downs_ + 1;
    heard_.notify();
  }

 private:
  plain<int>& downs_;
  parker& heard_;
  bool unlinked_ = false;
};

// Terminates with the other actor.
class bound_to_end : public counter {
 public:
  bound_to_end(record& done, parker& ended) : counter(done), ended_(ended) {}
  ~bound_to_end() { ended_.notify(); }
  void on(const link_with& m) { link(m.other); }

 private:
  parker& ended_;
};

TEST(link, requested_before_or_after_the_termination_notifies_once) {
  expect_holds({.random = 1'000}, [] {
    record one, other;
    plain<int> downs{0};
    parker heard, ended;
    {
      troupe::system all{small(2)};
      const auto t = all.spawn<told>(one, downs, heard);
      const auto b = all.spawn<bound_to_end>(other, ended);
      t.send(link_with{b.address()});
      b.stop_now();
      heard.park();
    }
    require(downs == 1, "it is told once");
    require(one.ends == 1 && other.ends == 1, "each ends once");
  });
}

TEST(link, from_both_sides_is_one_link) {
  expect_holds({.random = 1'000}, [] {
    record one, other;
    plain<int> downs{0};
    parker heard, ended;
    {
      troupe::system all{small(2)};
      const auto t = all.spawn<told>(one, downs, heard);
      const auto b = all.spawn<bound_to_end>(other, ended);
      t.send(link_with{b.address()});
      jthread second([&] { b.send(link_with{t.address()}); });
      b.stop_now();
      heard.park();
    }
    require(downs == 1, "it is told once");
  });
}

TEST(link, removed_during_the_termination_notifies_at_most_once) {
  expect_holds({.random = 1'000}, [] {
    record one, other;
    plain<int> downs{0};
    parker heard, ended;
    {
      troupe::system all{small(2)};
      const auto t = all.spawn<told>(one, downs, heard);
      const auto b = all.spawn<bound_to_end>(other, ended);
      jthread third([&] { b.stop_now(); });
      t.send(link_with{b.address()});
      t.send(unlink_from{b.address()});
      heard.park();
    }
    require(downs <= 1, "it is told once at the most");
    varies(downs == 1, "it is told");
    require(one.ends == 1 && other.ends == 1, "each ends once");
  });
}

TEST(link, terminates_the_other_actor_whichever_of_them_created_it) {
  expect_holds({.random = 1'000}, [] {
    record one, other;
    parker one_ended, other_ended;
    {
      troupe::system all{small(2)};
      const auto a = all.spawn<bound_to_end>(one, one_ended);
      const auto b = all.spawn<bound_to_end>(other, other_ended);
      a.send(link_with{b.address()});
      b.stop_now();
      one_ended.park();  // no other thread ends it
      other_ended.park();
    }
    require(one.ends == 1 && other.ends == 1, "each ends once");
  });
}

TEST(link, of_two_that_are_ended_at_the_same_time_ends_each_once) {
  expect_holds({.random = 1'000}, [] {
    record one, other;
    parker one_ended, other_ended;
    {
      troupe::system all{small(2)};
      const auto a = all.spawn<bound_to_end>(one, one_ended);
      const auto b = all.spawn<bound_to_end>(other, other_ended);
      a.send(link_with{b.address()});
      jthread second([&] { a.stop_now(); });
      b.stop_now();
      one_ended.park();
      other_ended.park();
    }
    require(one.ends == 1 && other.ends == 1, "each ends once");
  });
}

// ── Waiting for termination ───────────────────────────────────────────────────────────────────

struct begin {};

class waiting : public actor {
 public:
  waiting(address other, duration time, plain<int>& ends, plain<int>& timeouts, parker& over)
      : other_(other), time_(time), ends_(ends), timeouts_(timeouts), over_(over) {}
  task<> on(begin) {
    if (const auto got = co_await end_of(other_, time_)) {
      require(got->who == other_, "it is the one that was waited for");
      ends_ = ends_ + 1;
    } else {
      timeouts_ = timeouts_ + 1;
    }
    over_.notify();
  }

 private:
  const address other_;
  const duration time_;
  plain<int>& ends_;
  plain<int>& timeouts_;
  parker& over_;
};

// The clock is the real one: such a short time passes in some of the executions, before or after
// the termination.
TEST(end_of, resumes_once_at_the_termination_or_at_its_timeout) {
  expect_holds({.random = 1'000}, [] {
    record done;
    plain<int> ends{0};
    plain<int> timeouts{0};
    parker ended, over;
    {
      troupe::system all{small(2)};
      const auto b = all.spawn<bound_to_end>(done, ended);
      const auto w =
          all.spawn<waiting>(b.address(), std::chrono::microseconds(100), ends, timeouts, over);
      w.send(begin{});
      b.stop();
      over.park();
    }
    require(ends + timeouts == 1, "one of the two, once");
    require(done.ends == 1, "it has ended");
  });
}

TEST(end_of, whose_actor_ends_at_the_same_time_leaves_nothing) {
  expect_holds({.random = 1'000}, [] {
    record done;
    plain<int> ends{0};
    plain<int> timeouts{0};
    parker ended, over;
    {
      troupe::system all{small(2)};
      const auto b = all.spawn<bound_to_end>(done, ended);
      const auto w = all.spawn<waiting>(b.address(), std::chrono::hours(1), ends, timeouts, over);
      w.send(begin{});
      jthread second([&] { w.stop_now(); });
      b.stop();
    }
    require(ends + timeouts <= 1, "once at the most");
    varies(ends == 1, "it goes on at the end");
    require(done.ends == 1, "it has ended");
  });
}

}  // namespace
}  // namespace troupe
