// SPDX-License-Identifier: Apache-2.0
// Groups and dispatchers in a whole system.
#include <gtest/gtest.h>

#include <utility>

#include <checker/check.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::require;

// Both write to the same record, which no lock guards.
TEST(system_groups, members_of_one_do_not_race_and_end_with_their_system) {
  expect_holds({.random = 1'500}, [] {
    record shared;
    {
      troupe::system in(small(2));
      const serial_group group(in);
      const auto a = in.spawn<counter>({.group = group}, shared);
      const auto b = in.spawn<counter>({.group = group}, shared);
      const jthread other([&] { a.send(add{1}); });
      b.send(add{2});
    }
    require(shared.sum == 3 && shared.ends == 2, "both were handled, and both have ended");
  });
}

TEST(system_groups, a_group_made_while_others_run_on_its_workers_does_not_race) {
  expect_holds({.random = 1'500}, [] {
    record alone;
    record shared;
    {
      troupe::system in(small(1));
      const auto before = in.spawn<counter>(alone);
      const jthread other([&] { before.send(add{1}); });
      const serial_group group(in);
      in.spawn<counter>({.group = group}, shared).send(add{2});
      in.spawn<counter>({.group = group}, shared).send(add{3});
    }
    require(alone.sum == 1 && shared.sum == 5 && shared.ends == 2, "all were handled");
  });
}

/// Notifies that it has handled its message, so that its termination cannot come first.
class receiver : public counter {
 public:
  receiver(record& done, parker& told) : counter(done), told_(told) {}
  void on(add m) {
    counter::on(m);
    told_.notify();
  }

 private:
  parker& told_;
};

class relay : public actor {
 public:
  explicit relay(ref<receiver> to) : to_(std::move(to)) {}
  void on(add m) { to_.send(m); }

 private:
  const ref<receiver> to_;
};

TEST(system_groups, a_message_from_one_dispatcher_to_another_is_handled) {
  expect_holds({.random = 1'500}, [] {
    record done;
    parker told;
    {
      system_options options = small(1);
      options.dispatchers.push_back(
          {.name = "io", .workers = 1, .blocking_threshold = duration::zero()});
      troupe::system in(options);
      const auto to = in.spawn<receiver>({.dispatcher = "io"}, done, told);
      in.spawn<relay>(to).send(add{1});
      told.park();
    }
    require(done.sum == 1 && done.ends == 1, "it was handled");
  });
}

}  // namespace
}  // namespace troupe
