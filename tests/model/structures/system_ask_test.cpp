// SPDX-License-Identifier: Apache-2.0
// Requests in a whole system. Each has one result, and writes before the result are visible,
// whichever of the two actors terminates first.
#include <gtest/gtest.h>

#include <optional>

#include <checker/check.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct question {
  int value;
};
struct later {};
struct answer_now {};

class oracle : public actor {
 public:
  explicit oracle(plain<int>& written) : written_(written) {}
  int on(question q) {
    written_ = q.value;
    return q.value + 1;
  }
  void on(later, reply<int> owed) { owed_.emplace(std::move(owed)); }
  void on(answer_now) {
    written_ = 1;
    if (owed_) owed_->set_value(2);
    owed_.reset();
  }

 private:
  plain<int>& written_;
  std::optional<reply<int>> owed_;
};

struct begin {};
struct results {
  plain<int> sum{0};
  plain<int> errors{0};
  plain<int> finished{0};
  plain<int> frames{0};
};

struct in_flight {
  explicit in_flight(results& of) : got(of) { got.frames = got.frames + 1; }
  in_flight(const in_flight&) = delete;
  in_flight& operator=(const in_flight&) = delete;
  ~in_flight() { got.frames = got.frames - 1; }
  results& got;
};

class client : public actor {
 public:
  client(ref<oracle> to, results& got) : to_(std::move(to)), got_(got) {}
  task<> on(begin) {
    const in_flight here(got_);
    for (int i = 0; i < 2; ++i) {
      const auto got = co_await to_.ask<question>(no_timeout, i);
      if (got) {
        got_.sum = got_.sum + *got;
      } else {
        got_.errors = got_.errors + 1;
      }
    }
    got_.finished = 1;
  }

 private:
  const ref<oracle> to_;
  results& got_;
};

TEST(ask, a_thread_gets_its_reply_and_sees_earlier_writes) {
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    troupe::system all{small(1)};
    const auto it = all.spawn<oracle>(written);
    auto asked = it.ask<question>(no_timeout, 4);
    require(*asked.get() == 5, "it is the handler's result");
    require(written == 4, "what the handler wrote is seen");
  });
}

TEST(ask, an_abandoned_request_and_its_reply_free_their_shared_state) {
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    troupe::system all{small(1)};
    const auto it = all.spawn<oracle>(written);
    auto asked = it.ask<question>(no_timeout, 4);
    varies(asked.wait_until(time_point::min()), "it is answered already");
  });
}

TEST(ask, a_coroutine_gets_its_replies_or_is_destroyed_with_its_actor) {
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    results got;
    {
      troupe::system all{small(2)};
      const auto it = all.spawn<oracle>(written);
      const auto from = all.spawn<client>(it, got);
      from.send(begin{});
    }
    require(got.frames == 0, "nothing is left of it");
    // The replies are 1 and 2. After an error no reply follows.
    const int sum = got.sum;
    const int answers = sum == 3 ? 2 : sum;
    require(answers <= 2, "each question has one result at the most");
    if (varies(got.finished == 1, "it goes on to the end"))
      require(answers + got.errors == 2, "each question has its result");
  });
}

// Its reply meets the redirection of the slot from which the request was sent.
TEST(ask, a_callback_gets_its_reply_and_sees_earlier_writes) {
  class caller : public actor {
   public:
    caller(ref<oracle> to, plain<int>& written, parker& told)
        : to_(std::move(to)), written_(written), told_(told) {}
    void on(begin) {
      to_.ask<question>(no_timeout, 4).then([this](ask_result<int> got) {
        require(got.has_value() && *got == 5, "it is the handler's result");
        require(written_ == 4, "what the handler wrote is seen");
        told_.notify();
      });
    }

   private:
    const ref<oracle> to_;
    plain<int>& written_;
    parker& told_;
  };
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    parker told;
    troupe::system all{small(2)};
    const auto it = all.spawn<oracle>(written);
    const auto from = all.spawn<caller>(it, written, told);
    from.send(begin{});
    told.park();
  });
}

class told_at_the_end : public actor {
 public:
  told_at_the_end(ref<client> whom, plain<int>& told) : whom_(std::move(whom)), told_(told) {}
  void on_start() {
    watch(whom_);
    whom_.send(begin{});
    whom_ = {};
  }
  void on(const down& d) {
    require(d.reason == exit_reason::unreachable, "nobody has stopped it");
    told_ = 1;
    stop();
  }

 private:
  ref<client> whom_;
  plain<int>& told_;
};

TEST(ask, an_unreferenced_actor_stays_alive_until_it_has_its_replies) {
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    plain<int> told{0};
    results got;
    {
      troupe::system all{small(2)};
      const auto it = all.spawn<oracle>(written);
      const auto watcher = all.spawn<told_at_the_end>(all.spawn<client>(it, got), told);
      require(watcher.join() == exit_reason::stopped, "it is told");
    }
    require(told == 1 && got.sum == 3 && got.errors == 0, "it has had both when it ends");
  });
}

TEST(ask, a_request_to_a_terminating_actor_still_gets_a_result) {
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    troupe::system all{small(2)};
    const auto it = all.spawn<oracle>(written);
    jthread other([&] { it.stop_now(); });
    const auto got = it.ask<question>(no_timeout, 1).get();
    require(varies(got.has_value(), "it is answered") || got.error() == ask_error::stopped,
            "it is one of the two");
  });
}

TEST(ask, a_stored_reply_yields_a_value_or_an_error) {
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    troupe::system all{small(2)};
    const auto it = all.spawn<oracle>(written);
    auto asked = it.ask<later>(no_timeout);
    it.send(answer_now{});
    it.stop_now();
    const auto got = asked.get();
    if (varies(got.has_value(), "it is fulfilled")) {
      require(*got == 2 && written == 1, "what was written before it is seen");
    } else {
      require(got.error() != ask_error::timeout, "somebody has answered");
    }
  });
}

// Forwards its requests to an actor that may have terminated.
class clerk : public actor {
 public:
  explicit clerk(ref<oracle> to) : to_(std::move(to)) {}
  void on(question q, reply<int> owed) { to_.pass_on<question>(std::move(owed), q.value); }

 private:
  const ref<oracle> to_;
};

TEST(ask, a_forwarded_request_has_one_result_whichever_actor_terminates) {
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    troupe::system all{small(2)};
    const auto it = all.spawn<oracle>(written);
    const auto front = all.spawn<clerk>(it);
    auto asked = front.ask<question>(no_timeout, 1);
    it.stop_now();
    front.stop_now();
    const auto got = asked.get();
    if (varies(got.has_value(), "it is answered")) {
      require(*got == 2 && written == 1, "what was written before it is seen");
    } else {
      require(got.error() == ask_error::stopped, "one of them has ended");
    }
  });
}

// Its time-out meets its reply, and the reply finds an actor that has sent another request. The
// clock is the real one: a nanosecond has passed whenever it is read.
TEST(ask, a_coroutine_that_timed_out_never_gets_the_late_reply) {
  class impatient : public actor {
   public:
    impatient(ref<oracle> to, results& got) : to_(std::move(to)), got_(got) {}
    task<> on(begin) {
      const in_flight here(got_);
      const auto early = co_await to_.ask<question>(std::chrono::nanoseconds(1), 4);
      if (early) {
        require(*early == 5, "it is the answer to the first");
      } else {
        require(early.error() == ask_error::timeout, "only the time was over");
      }
      const auto next = co_await to_.ask<question>(no_timeout, 6);
      require(!next || *next == 7, "it is the answer to the second");
      got_.finished = 1;
      stop();
    }

   private:
    const ref<oracle> to_;
    results& got_;
  };
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    results got;
    {
      troupe::system all{small(2)};
      const auto it = all.spawn<oracle>(written);
      const auto from = all.spawn<impatient>(it, got);
      from.send(begin{});
      from.join();
    }
    require(got.finished == 1 && got.frames == 0, "both have a result, and nothing is left");
  });
}

TEST(ask, the_first_of_two_replies_resumes_once_and_the_other_is_discarded) {
  class hasty : public actor {
   public:
    hasty(ref<oracle> one, ref<oracle> other, results& got)
        : one_(std::move(one)), other_(std::move(other)), got_(got) {}
    task<> on(begin) {
      const in_flight here(got_);
      const auto first = co_await any(no_timeout, one_.ask<question>(no_timeout, 1),
                                      other_.ask<question>(no_timeout, 2));
      require(first.result.has_value(), "nobody ends before");
      varies(first.which == 0, "it is the first one");
      require(*first.result == (first.which == 0 ? 2 : 3), "it is the answer of the one named");
      got_.finished = got_.finished + 1;
      stop();
    }

   private:
    const ref<oracle> one_;
    const ref<oracle> other_;
    results& got_;
  };
  expect_holds({.random = 3'000}, [] {
    plain<int> written{0};
    plain<int> elsewhere{0};
    results got;
    {
      troupe::system all{small(2)};
      const auto one = all.spawn<oracle>(written);
      const auto other = all.spawn<oracle>(elsewhere);
      const auto from = all.spawn<hasty>(one, other, got);
      from.send(begin{});
      from.join();
    }
    require(got.finished == 1 && got.frames == 0, "once, and nothing is left");
  });
}

}  // namespace
}  // namespace troupe
