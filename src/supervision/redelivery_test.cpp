// SPDX-License-Identifier: Apache-2.0
// The message that failed its actor is handled once more by the next incarnation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

struct job {
  int number;
};
struct slow_job {
  int number;
};
struct query {
  int number;
};

// Fails at some jobs.
class retrying : public actor {
 public:
  using redelivered = troupe::messages<job, query>;
  explicit retrying(script& does, std::function<void(int)> at) : does_(does), at_(std::move(at)) {
    ++does.objects;
  }
  void on(job m) {
    does_.write("job " + std::to_string(m.number));
    at_(m.number);
    does_.write("done " + std::to_string(m.number));
  }
  void on(slow_job m) { at_(m.number); }
  int on(query m) {
    does_.write("query " + std::to_string(m.number));
    at_(m.number);
    return m.number;
  }
  void on(urgent) { does_.write("urgent"); }

 private:
  script& does_;
  const std::function<void(int)> at_;
};

struct workshop : clinic<retrying> {
  int failures = 0;
  void open_failing_at(int number, int times) {
    open(std::function<void(int)>([this, number, times](int at) {
      if (at == number && failures < times) {
        ++failures;
        throw std::runtime_error("why not");
      }
    }));
  }
};

TEST(redelivery, delivers_the_failed_message_again_before_all_others) {
  workshop on;
  on.open_failing_at(2, 1);
  for (int i = 1; i <= 3; ++i) on.it.send(job{i});
  on.play();
  EXPECT_THAT(on.does.log.lines(),
              ElementsAre("job 1", "done 1", "job 2", "job 2", "done 2", "job 3", "done 3"));
  EXPECT_EQ(on.system.statistics().messages_waiting, 0u);
}

TEST(redelivery, precedes_high_priority_messages) {
  workshop on;
  on.open(std::function<void(int)>([&](int) {
    if (on.failures++ != 0) return;
    on.it.send(urgent{});
    throw std::runtime_error("why not");
  }));
  on.it.send(job{1});
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("job 1", "job 1", "done 1", "urgent"));
}

TEST(redelivery, is_tried_once) {
  workshop on;
  on.open_failing_at(2, 2);
  for (int i = 1; i <= 3; ++i) on.it.send(job{i});
  on.play();
  EXPECT_THAT(on.does.log.lines(),
              ElementsAre("job 1", "done 1", "job 2", "job 2", "job 3", "done 3"));
  EXPECT_EQ(on.does.objects, 3);
}

TEST(redelivery, of_one_message_leaves_that_of_the_next_as_it_is) {
  workshop on;
  std::vector<int> failed;
  on.open(std::function<void(int)>([&](int number) {
    if (std::find(failed.begin(), failed.end(), number) != failed.end()) return;
    failed.push_back(number);
    throw std::runtime_error("why not");
  }));
  for (int i = 1; i <= 5; ++i) {
    on.it.send(job{i});  // often at the address of the previous one
    on.play();
    EXPECT_EQ(on.does.log.lines().back(), "done " + std::to_string(i));
  }
}

TEST(redelivery, does_not_apply_to_a_request_which_fails_instead) {
  workshop on;
  on.open_failing_at(1, 1);
  auto failed = on.it.ask<query>(patience, 1);
  auto answered = on.it.ask<query>(patience, 2);
  on.it.send(query{3});
  on.play();
  EXPECT_EQ(failed.get().error(), ask_error::failed);
  EXPECT_EQ(answered.get().value(), 2);
  EXPECT_THAT(on.does.log.lines(), ElementsAre("query 1", "query 2", "query 3"));
}

TEST(redelivery, applies_to_a_request_type_that_was_sent_without_ask) {
  workshop on;
  on.open_failing_at(1, 1);
  on.it.send(query{1});
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("query 1", "query 1"));
}

TEST(redelivery, does_not_apply_to_messages_that_are_not_listed) {
  workshop on;
  on.open_failing_at(1, 1);
  on.it.send(slow_job{1});
  on.it.send(job{2});
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("job 2", "done 2"));
}

TEST(redelivery, applies_even_if_the_mailbox_is_cleared) {
  workshop on;
  on.open_spec(child<retrying>("a", std::ref(on.does), std::function<void(int)>([&](int) {
                                 if (on.failures++ == 0) throw std::runtime_error("why not");
                               }))
                   .clear_mailbox()
                   .options({.where = bound_to(on.pump)}));
  for (int i = 1; i <= 3; ++i) on.it.send(job{i});
  on.play();
  EXPECT_THAT(on.does.log.lines(), ElementsAre("job 1", "job 1", "done 1"));
}

TEST(redelivery, does_not_happen_without_a_supervisor) {
  script does("a");
  stage on;
  const auto it = on.spawn<retrying>(
      does, std::function<void(int)>([](int) { throw std::runtime_error("why not"); }));
  it.send(job{1});
  on.play();
  EXPECT_EQ(it.join(), exit_reason::failed);
  EXPECT_THAT(does.log.lines(), ElementsAre("job 1"));
}

TEST(redelivery, becomes_a_dead_letter_if_the_actor_terminates) {
  script does("a");
  school on;
  on.open({.min_backoff = 10h, .max_backoff = 10h},
          child<retrying>("a", std::ref(does), std::function<void(int)>([](int) {
                            throw std::runtime_error("why not");
                          }))
              .options({.where = bound_to(on.pump)}));
  const auto it = on.find<retrying>("a");
  on.tell(it, job{1});
  on.head.stop();
  on.play();
  EXPECT_EQ(it.join(), exit_reason::failed);
  EXPECT_EQ(on.told.dead_letters().size(), 1u);
}

}  // namespace
}  // namespace troupe::test
