// SPDX-License-Identifier: Apache-2.0
// The same seed makes the same run in another process, whatever the addresses of its objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/function_actor.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/references.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/sim/simulation.hpp>
#include <troupe/supervision/registry.hpp>

namespace troupe::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

system_options quietly() {
  return {.on_failure = [](const failure&) {}};
}

struct begin {};

// ── Another layout ────────────────────────────────────────────────────────────────────────────

class nobody : public actor {
 public:
  void on(begin) {}
};

// Leaves actor slots, pool blocks and heap blocks free in an order that depends on `which`. The
// returned blocks stay allocated between the free ones.
std::vector<std::unique_ptr<char[]>> another_layout(std::uint64_t which) {
  std::mt19937_64 numbers(which);
  std::vector<std::unique_ptr<char[]>> junk;
  if (which == 0) return junk;
  for (int i = 0; i < 2'000; ++i) junk.push_back(std::make_unique<char[]>(numbers() % 600 + 1));
  std::shuffle(junk.begin(), junk.end(), numbers);
  junk.resize(junk.size() / 2);
  simulation sim(which);
  troupe::system system;
  std::vector<ref<nobody>> those;
  for (int i = 0; i < 300; ++i) those.push_back(system.spawn<nobody>());
  std::shuffle(those.begin(), those.end(), numbers);
  for (const auto& each : those) {
    each.send(begin{});
    each.stop();
    sim.run_until_idle();
  }
  while (!those.empty()) those.pop_back();
  return junk;
}

// Runs in a separate process.
std::string in_another_process(std::uint64_t layout, const std::function<std::string()>& run) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t process = ::fork();
  if (process < 0) throw std::runtime_error("no process");
  if (process == 0) {
    ::close(ends[0]);
    try {
      const auto junk = another_layout(layout);
      const std::string said = run();
      for (std::size_t at = 0; at < said.size();) {
        const ssize_t written = ::write(ends[1], said.data() + at, said.size() - at);
        if (written <= 0) ::_exit(1);
        at += static_cast<std::size_t>(written);
      }
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  char some[4'096];
  for (;;) {
    const ssize_t got = ::read(ends[0], some, sizeof some);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    said.append(some, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return said;
}

// Returns the result of the run and the trace of the last seed.
std::string same_in_all_layouts(const std::function<std::string(simulation&)>& run) {
  std::string first;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const auto traced = [&] {
      simulation sim(seed);
      const std::string more = run(sim);
      return more + sim.trace() + std::to_string(sim.trace_hash());
    };
    first = in_another_process(0, traced);
    EXPECT_THAT(first, Not(testing::IsEmpty()));
    for (std::uint64_t layout = 1; layout < 4; ++layout) {
      EXPECT_EQ(in_another_process(layout, traced), first) << "seed " << seed;
    }
  }
  return first;
}

// ── Notifications to several actors ───────────────────────────────────────────────────────────

class breaks : public actor {
 public:
  void on(begin) { throw std::runtime_error("broken"); }
};

template <bool IsTold>
class linked : public actor {
 public:
  explicit linked(address with) : with_(with) {}
  void on_start() { link(with_); }
  void on(link_down d)
    requires IsTold
  {
    throw std::runtime_error("told: " + d.what);
  }

 private:
  const address with_;
};

// Fails with the reason for which the watched actor terminated, so that the trace shows it.
class watches : public actor {
 public:
  explicit watches(address whom) : whom_(whom) {}
  void on_start() { watch(whom_); }
  void on(const down& d) { throw std::runtime_error("seen: " + d.what); }

 private:
  const address whom_;
};

TEST(memory_layout, does_not_change_the_order_or_the_reports_of_broken_links) {
  const std::string trace = same_in_all_layouts([](simulation& sim) {
    troupe::system system(quietly());
    const auto hub = system.spawn<breaks>();
    std::vector<ref<linked<false>>> linked_ones;
    std::vector<ref<linked<true>>> told_ones;
    std::vector<ref<watches>> watchers;
    for (int i = 0; i < 20; ++i) {
      linked_ones.push_back(
          system.spawn<linked<false>>(spawn_options{.name = std::to_string(i)}, hub));
      told_ones.push_back(system.spawn<linked<true>>(hub));
      watchers.push_back(system.spawn<watches>(linked_ones.back()));
    }
    sim.run_until_idle();
    hub.send(begin{});
    sim.run_until_idle();
    // Watches an actor that has already terminated.
    const auto late = system.spawn<linked<false>>(hub);
    watchers.push_back(system.spawn<watches>(late));
    sim.run_until_idle();
    return std::string();
  });
  EXPECT_THAT(trace, AllOf(HasSubstr("told: broken"), HasSubstr("seen: linked with "),
                           HasSubstr(" (#1), which failed: broken")));
}

TEST(memory_layout, does_not_change_the_report_of_a_terminated_actor) {
  const std::string trace = same_in_all_layouts([](simulation& sim) {
    troupe::system system(quietly());
    auto hub = system.spawn<breaks>();
    const address gone = hub;
    hub.stop();
    hub = {};
    sim.run_until_idle();
    const auto late = system.spawn<linked<false>>(gone);
    const auto watcher = system.spawn<watches>(late);
    sim.run_until_idle();
    return std::string();
  });
  EXPECT_THAT(trace, HasSubstr("seen: linked with actor #1, which had already terminated"));
}

class waits_for_name : public actor {
 public:
  void on_start() { registry(system()).notify_on_register("it", self(this)); }
  void on(const name_registered&) {}
};

class awaits_name : public actor {
 public:
  task<> on(begin) {
    (void)co_await registry(system()).wait<nobody>("it", std::chrono::seconds(5));
    self(this).send(7);
  }
  void on(int) {}
};

TEST(memory_layout, does_not_change_the_order_of_notifications_for_a_name) {
  (void)same_in_all_layouts([](simulation& sim) {
    troupe::system system(quietly());
    std::vector<ref<waits_for_name>> waiters;
    std::vector<ref<awaits_name>> handlers;
    for (int i = 0; i < 20; ++i) {
      waiters.push_back(system.spawn<waits_for_name>());
      handlers.push_back(system.spawn<awaits_name>());
      handlers.back().send(begin{});
    }
    sim.run_until_idle();
    const auto it = system.spawn<nobody>();
    (void)registry(system).add("it", it);
    sim.run_until_idle();
    return std::string();
  });
}

class in_ring : public actor {
 public:
  void on(ref<in_ring> next) { next_ = std::move(next); }
  void references(reference_visitor& visit) const { visit(next_); }

 private:
  ref<in_ring> next_;
};

TEST(memory_layout, does_not_change_the_order_in_which_cycles_end) {
  const std::string trace = same_in_all_layouts([](simulation& sim) {
    troupe::system system(quietly());
    {
      std::vector<ref<in_ring>> those;
      for (int i = 0; i < 20; ++i) {
        those.push_back(system.spawn<in_ring>(spawn_options{.name = std::to_string(i)}));
      }
      for (std::size_t i = 0; i < those.size(); ++i) those[i].send(those[(i + 7) % those.size()]);
      sim.run_until_idle();
    }
    sim.run_until_idle();
    const std::size_t ended = system.collect_cycles();
    sim.run_until_idle();
    return "ended: " + std::to_string(ended) + '\n';
  });
  EXPECT_THAT(trace, AllOf(HasSubstr("ended: 20\n"), HasSubstr("ended  unreachable")));
}

class secretive : public actor {
 public:
  void on(ref<secretive> next) { next_ = std::move(next); }

 private:
  ref<secretive> next_;
};

TEST(memory_layout, does_not_change_the_order_in_which_suspects_are_named) {
  const std::string trace = same_in_all_layouts([](simulation& sim) {
    troupe::system system(quietly());
    {
      std::vector<ref<secretive>> those;
      for (int i = 0; i < 5; ++i) {
        those.push_back(system.spawn<secretive>(spawn_options{.name = std::to_string(i)}));
      }
      for (std::size_t i = 0; i < those.size(); ++i) those[i].send(those[(i + 2) % those.size()]);
      sim.run_until_idle();
    }
    sim.run_until_idle();
    std::string suspects;
    for (const auto& each : system.unreachable_suspects()) {
      suspects += each.name + to_string(each.who) + ' ';
    }
    return suspects;
  });
  EXPECT_THAT(trace, testing::StartsWith("0#1 1#2 2#3 3#4 4#5 "));
}

TEST(memory_layout, does_not_change_how_an_address_is_written) {
  const std::string text = same_in_all_layouts([](simulation& sim) {
    troupe::system system(quietly());
    const auto one = system.spawn<breaks>(spawn_options{.name = "one"});
    const auto other = system.spawn<breaks>(spawn_options{.name = "other"});
    sim.run_until_idle();
    return to_string(other.address()) + ' ' + to_string(one.address()) + ' ' + to_string(address{});
  });
  EXPECT_THAT(text, testing::StartsWith("#2 #1 nobody"));
}

}  // namespace
}  // namespace troupe::sim
