// SPDX-License-Identifier: Apache-2.0
// Full mailboxes and budgets in a whole system: no sender is left waiting, and accepted messages
// are handled.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

const spawn_options narrow{.max_messages = 1};

// Notes the results that are not the ordinary one.
bool is_taken(delivery became) {
  if (became == delivery::paused) model::seen("paused");
  if (became == delivery::refused) model::seen("refused");
  return became == delivery::accepted || became == delivery::paused;
}

struct flood {
  int messages;
};

/// Sends several messages in a turn, and reports how many were accepted.
class flooder : public actor {
 public:
  flooder(ref<counter> to, plain<int>& taken) : to_(std::move(to)), taken_(taken) {}
  void on(flood f) {
    for (int i = 0; i < f.messages; ++i) {
      if (is_taken(to_.send(add{1}))) taken_ = taken_ + 1;
    }
  }

 private:
  const ref<counter> to_;
  plain<int>& taken_;
};

TEST(backpressure, a_suspended_actor_resumes) {
  expect_holds({.random = 1'500, .sees = {"paused"}}, [] {
    record done;
    plain<int> taken{0};
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(narrow, done);
      const auto from = all.spawn<flooder>(to, taken);
      from.send(flood{2});
      from.send(flood{2});
      from.stop();
      require(from.join() == exit_reason::stopped, "it gets its turns");
    }
    require(taken == 4 && done.sum == 4, "nothing is refused");
  });
}

TEST(backpressure, two_actors_suspended_by_the_same_receiver_resume) {
  expect_holds({.random = 1'500, .sees = {"paused"}}, [] {
    record done;
    plain<int> taken{0};
    plain<int> other_taken{0};
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(narrow, done);
      const auto one = all.spawn<flooder>(to, taken);
      const auto other = all.spawn<flooder>(to, other_taken);
      one.send(flood{2});
      other.send(flood{2});
      one.stop();
      other.stop();
      require(one.join() == exit_reason::stopped, "it gets its turns");
      require(other.join() == exit_reason::stopped, "so does the other");
    }
    require(taken == 2 && other_taken == 2 && done.sum == 4, "nothing is refused");
  });
}

TEST(backpressure, a_thread_that_waits_for_space_resumes) {
  expect_holds({.random = 1'500}, [] {
    record done;
    plain<int> taken{0};
    {
      troupe::system all{small()};
      const auto to = all.spawn<counter>(narrow, done);
      jthread other([&] {
        for (int i = 0; i < 3; ++i) {
          if (is_taken(to.send(add{1}))) taken = taken + 1;
        }
      });
    }
    require(taken == 3 && done.sum == 3, "nothing is refused");
  });
}

TEST(backpressure, a_thread_that_waits_for_a_terminating_actor_resumes) {
  expect_holds({.random = 1'500}, [] {
    record done;
    plain<int> taken{0};
    {
      troupe::system all{small()};
      const auto to = all.spawn<counter>(narrow, done);
      jthread other([&] {
        for (int i = 0; i < 2; ++i) {
          if (varies(is_taken(to.send(add{1})), "it is there")) taken = taken + 1;
        }
      });
      to.stop_now();
    }
    require(done.sum <= taken, "no more than was taken is handled");
  });
}

struct pass {
  int times;
};

/// Forwards its messages to another actor, which sends them back.
class passer : public actor {
 public:
  explicit passer(record& done) : done_(done) {}
  passer(const passer&) = delete;
  passer& operator=(const passer&) = delete;
  void on(const ref<passer>& to) { to_ = to; }
  void on(pass p) {
    done_.sum = done_.sum + 1;
    if (p.times == 0) return;
    const ref<passer> to = to_.lock();
    if (!to) return;
    for (const int times : {p.times - 1, 0}) (void)is_taken(to.send(pass{times}));
  }

 private:
  weak_ref<passer> to_;
  record& done_;
};

TEST(backpressure, two_actors_that_would_wait_for_each_other_proceed) {
  expect_holds({.random = 2'000, .sees = {"paused"}}, [] {
    record of_one;
    record of_other;
    {
      troupe::system all{small(2)};
      const auto one = all.spawn<passer>(narrow, of_one);
      const auto other = all.spawn<passer>(narrow, of_other);
      (void)one.send(other);
      (void)other.send(one);
      (void)one.send(pass{2});
      (void)other.send(pass{2});
      one.stop();
      other.stop();
      require(one.join() == exit_reason::stopped, "it gets its turns");
      require(other.join() == exit_reason::stopped, "so does the other");
      require(all.statistics().messages_refused == 0, "no mailbox refuses anything");
    }
    require(of_one.sum >= 1 && of_other.sum >= 1, "what was sent before the stop is handled");
  });
}

struct question {};
class asker;

/// Floods the asking actor, and then replies.
class late_flooder : public actor {
 public:
  explicit late_flooder(plain<int>& taken) : taken_(taken) {}
  void on(ref<asker> to) { to_ = std::move(to); }
  void on(flood f);
  int on(question) { return 1; }

 private:
  ref<asker> to_;
  plain<int>& taken_;
};

/// Sends a request, and handles nothing else meanwhile.
class asker : public actor {
 public:
  asker(ref<late_flooder> to, record& done) : to_(std::move(to)), done_(done) {}
  void on(add m) { done_.sum = done_.sum + m.by; }
  exclusive_task<> on(pass) {
    const auto answer = co_await to_.ask<question>(no_timeout);
    require(answer.has_value(), "it is answered");
    to_ = {};  // the two actors hold each other
  }

 private:
  ref<late_flooder> to_;
  record& done_;
};

void late_flooder::on(flood f) {
  for (int i = 0; i < f.messages; ++i) {
    if (is_taken(to_.send(add{1}))) taken_ = taken_ + 1;
  }
}

TEST(backpressure, ends_if_the_receivers_exclusive_handler_waits_for_the_sender) {
  expect_holds({.random = 2'000, .sees = {"paused"}}, [] {
    record done;
    plain<int> taken{0};
    {
      troupe::system all{small(2)};
      const auto sink = all.spawn<late_flooder>(taken);
      const auto asks = all.spawn<asker>(narrow, sink, done);
      (void)sink.send(asks);
      (void)asks.send(pass{0});
      (void)sink.send(flood{3});
      asks.stop();
      require(asks.join() == exit_reason::stopped, "it is answered");
      (void)sink.send(ref<asker>{});
    }
    require(taken <= 3 && done.sum <= 3, "no more than was sent is handled");
  });
}

TEST(backpressure, an_actor_suspended_by_a_terminating_receiver_resumes) {
  expect_holds({.random = 1'500, .sees = {"paused", "refused"}}, [] {
    record done;
    plain<int> taken{0};
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(narrow, done);
      const auto from = all.spawn<flooder>(to, taken);
      from.send(flood{3});
      to.stop_now();
      from.stop();
      require(from.join() == exit_reason::stopped, "it gets its turns");
    }
    require(done.sum <= taken, "no more than was taken is handled");
  });
}

// More units than a mailbox can count.
struct freight {
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return 20'000'000; }
};

class harbour : public actor {
 public:
  void on(const freight&) {}
};

class shipper : public actor {
 public:
  explicit shipper(ref<harbour> to) : to_(std::move(to)) {}
  void on(flood) { (void)is_taken(to_.send(freight{})); }

 private:
  const ref<harbour> to_;
};

TEST(backpressure, for_messages_that_a_mailbox_does_not_count_ends_with_the_receiver) {
  expect_holds({.random = 1'500, .sees = {"paused", "refused"}}, [] {
    system_options options = small(2);
    options.memory_budget = std::size_t{1} << 40;
    troupe::system all{options};
    const auto to = all.spawn<harbour>(spawn_options{.max_bytes = 4'096});
    const auto one = all.spawn<shipper>(to);
    const auto other = all.spawn<shipper>(to);
    one.send(flood{1});
    other.send(flood{1});
    to.stop_now();
    one.stop();
    other.stop();
    require(one.join() == exit_reason::stopped, "it gets its turns");
    require(other.join() == exit_reason::stopped, "so does the other");
    (void)to.join();  // until then its mailbox may hold what is charged
    require(all.statistics().overdraft_bytes == 0, "nothing stays charged");
  });
}

// Each thread counts for itself and settles its count. Amounts that no thread has settled show in
// the sum.
TEST(budget, all_that_is_charged_is_released) {
  expect_holds({.random = 1'500, .sees = {"refused"}}, [] {
    record done;
    plain<int> taken{0};
    {
      system_options options = small(2);
      options.memory_budget = 100;
      troupe::system all{options};
      const auto to = all.spawn<counter>(done);
      const auto from = all.spawn<flooder>(to, taken);
      from.send(flood{3});
      (void)to.send(add{0});
      from.stop();
      (void)from.join();
      to.stop();
      (void)to.join();
      require(all.statistics().message_bytes_waiting == 0, "nothing waits any more");
    }
    require(done.sum == taken, "what was taken is handled");
    varies(taken == 3, "all are taken");
  });
}

// Messages beyond the limit of the mailbox are charged to the overdraft as well, which is half of
// the budget.
TEST(budget, all_that_is_charged_beyond_the_limit_of_a_mailbox_is_released) {
  expect_holds({.random = 1'500, .sees = {"paused", "refused"}}, [] {
    record done;
    plain<int> taken{0};
    {
      system_options options = small(2);
      options.memory_budget = 100;
      troupe::system all{options};
      const auto to = all.spawn<counter>(narrow, done);
      const auto from = all.spawn<flooder>(to, taken);
      from.send(flood{3});
      from.stop();
      (void)from.join();
      to.stop();
      (void)to.join();
      require(all.statistics().message_bytes_waiting == 0, "nothing waits any more");
    }
    require(done.sum == taken, "what was taken is handled");
  });
}

}  // namespace
}  // namespace troupe
