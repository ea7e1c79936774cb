// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <string>
#include <system_error>
#include <troupe/detail/sync/event_fd.hpp>
#include <troupe/detail/sync/thread.hpp>

namespace troupe {
namespace {

bool is_readable(const event_fd& event) {
  pollfd one{.fd = event.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) == 1;
}

TEST(event_fd, empty) {
  event_fd event;
  EXPECT_FALSE(is_readable(event));
  EXPECT_FALSE(event.clear());
}

TEST(event_fd, is_readable_from_set_to_clear) {
  event_fd event;
  event.set();
  EXPECT_TRUE(is_readable(event));
  EXPECT_TRUE(is_readable(event)) << "level-triggered";
  EXPECT_TRUE(event.clear());
  EXPECT_FALSE(is_readable(event));
  EXPECT_FALSE(event.clear());
}

TEST(event_fd, several_sets_count_once) {
  event_fd event;
  for (int i = 0; i < 1'000; ++i) event.set();
  EXPECT_TRUE(event.clear());
  EXPECT_FALSE(is_readable(event));
}

TEST(event_fd, wakes_a_thread_that_sleeps_in_poll) {
  event_fd event;
  jthread other([&] { event.set(); });
  pollfd one{.fd = event.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&one, 1, 30'000), 1);
}

TEST(event_fd, an_error_says_why_it_could_not_be_created) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  try {
    event_fd event;
    ADD_FAILURE() << "there was one";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::too_many_files_open);
    EXPECT_NE(std::string(e.what()).find("eventfd"), std::string::npos) << e.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(event_fd, closes_its_descriptor) {
  int first = -1;
  {
    event_fd event;
    first = event.fd();
  }
  event_fd event;
  EXPECT_EQ(event.fd(), first);
}

}  // namespace
}  // namespace troupe
