// SPDX-License-Identifier: Apache-2.0
// Monitoring in a whole system: one `down` for each monitor, after all other messages of the
// terminated actor.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <cstddef>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct word {};

struct seen {
  plain<int> words{0};
  plain<int> downs{0};
  int expected = 1;  // number of downs; then the waiter is notified
  exit_reason reason = exit_reason::unknown;
  std::size_t unhandled = 0;
  parker watching;
  parker told;
};

class talker;

class watcher : public actor {
 public:
  explicit watcher(seen& what) : what_(what) {}
  void on(const ref<talker>& other) {
    watch(other);
    what_.watching.notify();
  }
  void on(const address& other) { watch(other); }
  void on(word) { what_.words = what_.words + 1; }
  void on(const down& d) {
    require(what_.words == 2, "it comes after all else that was sent");
    what_.downs = what_.downs + 1;
    what_.reason = d.reason;
    what_.unhandled = d.unhandled;
    if (what_.downs == what_.expected) what_.told.notify();
  }

 private:
  seen& what_;
};

// Sends its last messages in its destructor.
class talker : public actor {
 public:
  explicit talker(const ref<watcher>& to) : to_(to) {}
  talker(const talker&) = delete;
  talker& operator=(const talker&) = delete;
  ~talker() { to_.send(word{}); }
  void on_stop() { to_.send(word{}); }
  void on(add) {}

 private:
  const ref<watcher> to_;
};

TEST(watch, through_a_reference_notifies_once_before_or_after_termination) {
  expect_holds({.random = 5'000}, [] {
    seen what;
    {
      troupe::system all{small(2)};
      const auto w = all.spawn<watcher>(what);
      const auto t = all.spawn<talker>(w);
      jthread other([&] { w.send(ref<talker>(t)); });
      t.stop();
      what.told.park();
    }
    require(what.downs == 1, "it is told once");
    require(what.reason == exit_reason::stopped, "and why");
  });
}

TEST(watch, by_address_notifies_once_before_or_after_termination) {
  expect_holds({.random = 5'000}, [] {
    seen what;
    {
      troupe::system all{small(2)};
      const auto w = all.spawn<watcher>(what);
      const auto t = all.spawn<talker>(w);
      w.send(t.address());
      t.stop();
      what.told.park();
    }
    require(what.downs == 1, "it is told once");
    const bool is_known = varies(what.reason == exit_reason::stopped, "it had not ended yet");
    require(is_known || what.reason == exit_reason::unknown, "and why, if it had not ended yet");
  });
}

TEST(watch, twice_notifies_twice) {
  expect_holds({.random = 3'000}, [] {
    seen what;
    what.expected = 2;
    {
      troupe::system all{small(2)};
      const auto w = all.spawn<watcher>(what);
      const auto t = all.spawn<talker>(w);
      w.send(ref<talker>(t));
      jthread other([&] { w.send(ref<talker>(t)); });
      t.stop_now();
      what.told.park();
    }
    require(what.downs == 2, "each is told once");
    require(what.reason == exit_reason::stopped_now, "and why");
  });
}

TEST(watch, reports_the_number_of_unhandled_messages) {
  expect_holds({.random = 3'000}, [] {
    seen what;
    int refused = 0;
    {
      troupe::system all{small(2)};
      const auto w = all.spawn<watcher>(what);
      const auto t = all.spawn<talker>(w);
      w.send(ref<talker>(t));
      what.watching.park();
      t.stop();
      for (int i = 0; i < 2; ++i) refused += t.send(add{1}) == delivery::refused ? 1 : 0;
      what.told.park();
    }
    require(what.unhandled + static_cast<std::size_t>(refused) == 2, "what is behind the stop");
    varies(what.unhandled == 2, "all are left");
    varies(refused == 2, "all are refused");
  });
}

// If the monitoring actor terminates first, no notification is sent.
TEST(watch, by_one_that_ends_at_the_same_time_loses_nothing) {
  expect_holds({.random = 3'000, .sees = {"it is told"}}, [] {
    class short_lived : public actor {
     public:
      void on(const ref<counter>& other) { watch(other); }
      void on(const down&) { model::seen("it is told"); }
    };
    record done;
    {
      troupe::system all{small(2)};
      const auto t = all.spawn<counter>(done);
      {
        const auto w = all.spawn<short_lived>();
        w.send(ref<counter>(t));
      }
      t.stop();
    }
    require(done.ends == 1, "it has ended");
  });
}

}  // namespace
}  // namespace troupe
