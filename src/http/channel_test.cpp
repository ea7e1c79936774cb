// SPDX-License-Identifier: Apache-2.0

#include "channel.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace troupe::http::detail {
namespace {

/// Stands in for a connection: counts its pokes.
class looker : public actor {
 public:
  explicit looker(int& pokes) : pokes_(pokes) {}
  void on(poke) { ++pokes_; }

 private:
  int& pokes_;
};

class channel_of_1000_bytes : public testing::Test {
 protected:
  int pokes() {
    pump_.run_until_idle();
    return pokes_;
  }
  std::vector<std::string> taken() {
    std::vector<frame> batch;
    channel_->take(batch);
    std::vector<std::string> result;
    for (const frame& f : batch) {
      result.emplace_back(f.bytes());
      channel_->sent(f.cost());
    }
    return result;
  }

  troupe::system system_{{.workers = 1}};
  pump pump_{system_};
  int pokes_ = 0;
  ref<looker> looker_ = system_.spawn<looker>({.where = bound_to(pump_)}, pokes_);
  std::shared_ptr<channel> channel_ =
      std::make_shared<channel>(limits{.send_queue_bytes = 1000}, request{}, looker_);
  http::websocket client_ = channel_->handle();
};

using lines = std::vector<std::string>;

// The budget for all channels together is 100,000 bytes.
class channels_with_one_budget : public channel_of_1000_bytes {
 protected:
  std::shared_ptr<channel> make() {
    return std::make_shared<channel>(limits{.send_queue_bytes = 1'000'000}, request{}, looker_, "",
                                     all_);
  }
  // Returns how many messages of that size are accepted before one is refused.
  static int fill(channel& c, std::size_t bytes) {
    int taken = 0;
    while (c.handle().send(std::string(bytes, 'x')) == delivery::accepted) ++taken;
    return taken;
  }

  std::shared_ptr<byte_gauge> all_ = std::make_shared<byte_gauge>(100'000);
};

TEST_F(channels_with_one_budget, queued_bytes_of_all_channels_are_bounded) {
  const auto first = make(), second = make(), third = make();
  EXPECT_EQ(first->handle().send(std::string(90'000, 'x')), delivery::accepted);
  EXPECT_EQ(second->handle().send(std::string(90'000, 'x')), delivery::refused);
  EXPECT_TRUE(second->overflowed());
  EXPECT_FALSE(first->overflowed());
  EXPECT_LE(all_->used(), 90'000u);
  // The first bytes of each channel are its own, whatever the other channels use.
  EXPECT_EQ(third->handle().send(std::string(10'000, 'x')), delivery::accepted);
  EXPECT_FALSE(third->overflowed());
}

TEST_F(channels_with_one_budget, sent_and_dropped_bytes_are_released) {
  const auto first = make();
  EXPECT_EQ(fill(*first, 1'000), 111);  // of 116,384 bytes, each with its frame
  EXPECT_TRUE(first->overflowed());
  EXPECT_EQ(all_->used(), 0u);

  const auto second = make();
  second->handle().send(std::string(90'000, 'x'));
  std::vector<frame> batch;
  second->take(batch);
  EXPECT_GT(all_->used(), 70'000u);  // taken by the connection
  second->sent(batch.front().cost());
  EXPECT_EQ(all_->used(), 0u);

  const auto third = make();
  third->handle().send(std::string(90'000, 'x'));
  third->shut();
  EXPECT_EQ(all_->used(), 0u);
}

TEST_F(channels_with_one_budget, bytes_being_written_count_until_they_are_sent) {
  const auto first = make();
  first->handle().send(std::string(60'000, 'x'));
  std::vector<frame> batch;
  first->take(batch);
  first->handle().send(std::string(30'000, 'x'));
  const std::size_t writing = batch.front().cost();
  first->shut(writing);
  EXPECT_EQ(all_->used(), writing - channel::own_bytes);
  first->sent(writing);
  EXPECT_EQ(all_->used(), 0u);
  first->shut();
  first->sent(writing);  // too late to matter
  EXPECT_EQ(all_->used(), 0u);
}

TEST_F(channel_of_1000_bytes, keeps_the_order_and_pokes_once_for_all) {
  client_.send("one");
  client_.send_binary("two");
  client_.send(std::make_shared<const std::string>("three"));
  EXPECT_EQ(pokes(), 1);
  EXPECT_EQ(taken(), (lines{"one", "two", "three"}));
}

TEST_F(channel_of_1000_bytes, pokes_again_only_after_an_empty_look) {
  client_.send("one");
  EXPECT_EQ(taken(), lines{"one"});
  client_.send("two");
  EXPECT_EQ(pokes(), 1);
  EXPECT_EQ(taken(), lines{"two"});
  EXPECT_EQ(taken(), lines{});
  client_.send("three");
  EXPECT_EQ(pokes(), 2);
}

TEST_F(channel_of_1000_bytes, refuses_messages_beyond_its_limit_and_drops_the_queue) {
  EXPECT_EQ(client_.send(std::string(500, 'x')), delivery::accepted);
  EXPECT_FALSE(channel_->overflowed());
  EXPECT_EQ(client_.send(std::string(500, 'x')), delivery::refused);
  EXPECT_TRUE(channel_->overflowed());
  EXPECT_EQ(client_.send("x"), delivery::refused);
  EXPECT_EQ(taken(), lines{});
  EXPECT_EQ(pokes(), 2);  // the overflow is announced although a poke was outstanding
}

TEST_F(channel_of_1000_bytes, taken_frames_count_until_they_are_sent) {
  std::vector<frame> batch;
  EXPECT_EQ(client_.send(std::string(900, 'x')), delivery::accepted);
  channel_->take(batch);
  ASSERT_EQ(batch.size(), 1u);
  channel_->sent(batch[0].cost());
  EXPECT_EQ(client_.send(std::string(900, 'x')), delivery::accepted);
  batch.clear();
  channel_->take(batch);
  EXPECT_EQ(client_.send(std::string(900, 'x')), delivery::refused);
}

TEST_F(channel_of_1000_bytes, empty_messages_are_not_free) {
  std::size_t accepted = 0;
  while (client_.send("") == delivery::accepted) ++accepted;
  EXPECT_EQ(accepted, 1000 / sizeof(frame));
}

TEST_F(channel_of_1000_bytes, takes_nothing_after_close) {
  client_.send("one");
  client_.close(4000, "done");
  client_.close(4001, "again");
  EXPECT_EQ(client_.send("two"), delivery::refused);
  std::vector<frame> batch;
  channel_->take(batch);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[1].what, frame::type::close);
  EXPECT_EQ(batch[1].code, 4000);
  EXPECT_EQ(batch[1].bytes(), "done");
}

TEST_F(channel_of_1000_bytes, outlives_its_connection) {
  channel_->shut();
  looker_.stop();
  EXPECT_EQ(client_.send("one"), delivery::refused);
  client_.close();
  { const window_place place = channel_->place(); }
  EXPECT_EQ(pokes(), 0);
}

TEST_F(channel_of_1000_bytes, notifies_when_enough_places_are_released) {
  std::vector<window_place> places;
  for (int i = 0; i < 4; ++i) places.push_back(channel_->place());
  EXPECT_EQ(channel_->out(), 4u);
  EXPECT_FALSE(channel_->wait_for(2));
  places.pop_back();
  EXPECT_EQ(pokes(), 0);
  places.pop_back();
  EXPECT_EQ(pokes(), 1);
  places.clear();
  EXPECT_EQ(pokes(), 1);
  EXPECT_EQ(channel_->out(), 0u);
}

TEST_F(channel_of_1000_bytes, a_place_that_is_overwritten_is_given_back) {
  window_place place = channel_->place();
  place = channel_->place();
  EXPECT_EQ(channel_->out(), 1u);
  window_place moved = std::move(place);
  EXPECT_EQ(channel_->out(), 1u);
  moved = window_place{};
  EXPECT_EQ(channel_->out(), 0u);
}

TEST_F(channel_of_1000_bytes, notifies_when_the_last_mark_is_released) {
  EXPECT_FALSE(channel_->is_behind());
  {
    const mark last = channel_->make_mark();
    { const mark earlier = channel_->make_mark(); }
    EXPECT_TRUE(channel_->is_behind());
    EXPECT_EQ(pokes(), 0);
  }
  EXPECT_FALSE(channel_->is_behind());
  EXPECT_EQ(pokes(), 1);
}

using channel_death = channel_of_1000_bytes;

TEST_F(channel_death, a_code_that_may_not_be_sent_is_a_broken_contract) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 2999, 5000}) {
    EXPECT_DEATH(client_.close(static_cast<std::uint16_t>(code)), "must not be sent");
  }
}

}  // namespace
}  // namespace troupe::http::detail
