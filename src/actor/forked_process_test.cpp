// SPDX-License-Identifier: Apache-2.0
// A process that forks while it has a system: the child has none of the threads, and gets errors
// that say so.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/pump.hpp>
#include <troupe/actor/system.hpp>

#include "ask_test_support.hpp"

namespace troupe::test {
namespace {

using testing::HasSubstr;

// The result of `run` in a child.
std::string in_child(const std::function<std::string()>& run) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);  // it must not hang
    const std::string text = run();
    const bool is_written = ::write(ends[1], text.data(), text.size()) >= 0;
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string all;
  char some[256];
  for (ssize_t got = 0; (got = ::read(ends[0], some, sizeof some)) > 0;) {
    all.append(some, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? all : all + " and died";
}

template <class Call>
std::string error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "no error";
}

TEST(forked_child, is_refused_what_it_sends_and_asks) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  EXPECT_EQ(in_child([&] {
              return std::string(to_string(it.send(answer_now{1}))) + ", " +
                     text(it.ask<add>(no_timeout, 1, 2).get());
            }),
            "refused, stopped");
  EXPECT_EQ(it.ask<add>(patience, 1, 2).get().value(), 3) << "the parent goes on";
  EXPECT_EQ(it.send(answer_now{1}), delivery::accepted);
}

TEST(forked_child, gets_an_error_where_it_would_wait_for_threads_that_it_has_not) {
  journal log;
  stage on;
  troupe::system& system = on.system;
  const auto it = system.spawn<oracle>();
  auto asked = it.ask<answer_later>(no_timeout);
  const std::function<void()> calls[] = {[&] { (void)system.spawn<oracle>(); },
                                         [&] { (void)system.shutdown(duration::max()); },
                                         [&] { (void)system.shutdown_now(duration::max()); },
                                         [&] { system.join_all(); },
                                         [&] { (void)it.join(); },
                                         [&] { (void)asked.get(); },
                                         [&] { (void)on.pump.drain(); },
                                         [&] { (void)system.statistics(); },
                                         [&] { (void)system.collect_cycles(); },
                                         [&] { const troupe::system another; }};
  for (const auto& each : calls) {
    EXPECT_THAT(in_child([&] { return error_of(each); }),
                HasSubstr("forked while its parent had a troupe::system"));
  }
  it.send(answer_now{5});
  EXPECT_EQ(asked.get().value(), 5);
}

TEST(forked_child, ends_objects_of_the_parent_without_waiting) {
  std::optional<troupe::system> system(std::in_place);
  std::optional<pump> here(std::in_place, *system);
  const auto it = system->spawn<oracle>({.where = bound_to(*here)});
  EXPECT_EQ(in_child([&] {
              here.reset();
              system.reset();
              return std::string("ended");
            }),
            "ended");
}

TEST(forked_child, of_a_process_without_a_system_makes_its_own) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  { const troupe::system before; }
  EXPECT_EQ(in_child([] {
              troupe::system system({.workers = 1});
              return text(system.spawn<oracle>().ask<add>(patience, 1, 2).get());
            }),
            "value");
}

}  // namespace
}  // namespace troupe::test
