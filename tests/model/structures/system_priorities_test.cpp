// SPDX-License-Identifier: Apache-2.0
// High messages in a whole system: they never get stuck, are never lost, and overtake waiting
// messages.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct high {
  static constexpr auto priority = troupe::priority::high;
  int number;
};
struct normal {
  int number;
};

struct seen {
  plain<int> high_ones{0};
  plain<int> last_high{0};
  plain<int> last_normal{0};
  plain<int> all{0};
};

/// From one sender, messages of each priority arrive in the order of their numbers.
class in_order : public actor {
 public:
  explicit in_order(seen& what) : seen_(what) {}
  void on(high m) {
    require(m.number == seen_.last_high + 1, "the high ones in their order");
    if (m.number == 1) varies(seen_.last_normal == 0, "it overtakes");
    seen_.last_high = m.number;
    seen_.high_ones = seen_.high_ones + 1;
    seen_.all = seen_.all + 1;
  }
  void on(normal m) {
    require(m.number == seen_.last_normal + 1, "the normal ones in their order");
    seen_.last_normal = m.number;
    seen_.all = seen_.all + 1;
  }

 private:
  seen& seen_;
};

TEST(priority, messages_of_both_priorities_keep_their_order_and_none_is_lost) {
  expect_holds({.random = 3'000}, [] {
    seen done;
    {
      troupe::system all{small()};
      const auto to = all.spawn<in_order>(done);
      jthread other([&] {
        to.send(normal{1});
        to.send(high{1});
        to.send(high{2});
        to.send(normal{2});
        to.send(high{3});
      });
    }
    require(done.all == 5, "all are handled");
  });
}

TEST(priority, no_message_is_stuck_in_a_sleeping_actor) {
  class replies : public actor {
   public:
    explicit replies(record& done) : done_(done) {}
    int on(high) {
      done_.sum = done_.sum + 1;
      return 1;
    }
    void on(normal) { done_.sum = done_.sum + 1; }

   private:
    record& done_;
  };
  expect_holds({.random = 3'000}, [] {
    record done;
    {
      troupe::system all{small()};
      const auto to = all.spawn<replies>(done);
      jthread other([&] { to.send(normal{1}); });
      // If the request is not handled, the test waits here forever.
      require(to.ask<high>(no_timeout, 1).get().has_value(), "it is answered");
    }
    require(done.sum == 2, "all are handled");
  });
}

TEST(priority, a_receiver_that_terminated_after_a_message_is_not_notified_of_it) {
  expect_holds({.random = 3'000}, [] {
    seen done;
    {
      troupe::system all{small(2)};
      auto to = all.spawn<in_order>(done);
      jthread other([to = std::move(to)]() mutable {
        to.send(normal{1});
        to.send(high{1});
        to = {};
      });
    }
    require(done.all == 2, "all are handled");
  });
}

// n2 waits until the other thread has sent. Then the high message comes before n3, which has waited
// longer.
TEST(priority, a_known_high_priority_message_overtakes_waiting_ones) {
  struct shared {
    atomic<int> sent{0};
    plain<int> high_ones{0};
  };
  class waits_for_it : public actor {
   public:
    explicit waits_for_it(shared& with) : with_(with) {}
    void on(high) { with_.high_ones = with_.high_ones + 1; }
    void on(normal m) {
      if (m.number == 2) {
        while (with_.sent.load(acquire) == 0) cpu_relax();
      }
      if (m.number == 3) require(with_.high_ones == 1, "it has overtaken this one");
    }

   private:
    shared& with_;
  };
  class sends_three : public actor {
   public:
    explicit sends_three(ref<waits_for_it> to) : to_(std::move(to)) {}
    void on(add) {
      for (int i = 1; i <= 3; ++i) to_.send(normal{i});
    }

   private:
    const ref<waits_for_it> to_;
  };
  expect_holds({.random = 8'000}, [] {
    shared with;
    {
      troupe::system all{small()};
      const auto to = all.spawn<waits_for_it>(with);
      all.spawn<sends_three>(to).send(add{1});
      to.send(high{1});
      with.sent.store(1, release);
    }
    require(with.high_ones == 1, "it is handled");
  });
}

// With the checker's tuning, at most two high messages are handled in a row.
TEST(priority, a_normal_message_is_handled_during_a_stream_of_high_ones) {
  class busy : public actor {
   public:
    busy(atomic<int>& sent, record& done) : sent_(sent), done_(done) {}
    void on(high m) {
      if (m.number < 8) self(this).send(high{m.number + 1});
      if (sent_.load(acquire) == 0 || done_.sum == 1) return;
      require(++since_ <= 3, "it has its turn");
    }
    void on(normal) { done_.sum = 1; }

   private:
    atomic<int>& sent_;
    record& done_;
    int since_ = 0;
  };
  expect_holds({.random = 2'000}, [] {
    record done;
    atomic<int> sent{0};
    {
      troupe::system all{small()};
      const auto to = all.spawn<busy>(sent, done);
      to.send(high{1});
      to.send(normal{1});
      sent.store(1, release);
    }
    require(done.sum == 1, "it is handled");
  });
}

}  // namespace
}  // namespace troupe
