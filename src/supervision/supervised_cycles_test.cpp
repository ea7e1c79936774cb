// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

// Holds a reference to itself, and lists it.
class loner : public actor {
 public:
  struct hold {};
  void on(hold) { me_ = self(this); }
  void references(reference_visitor& visit) const { visit(me_); }

 private:
  ref<loner> me_;
};

TEST(cycles, of_supervised_actors_are_held_by_their_supervisor) {
  troupe::system all({.workers = 1, .cycle_search = duration::zero()});
  pump here(all);
  const spawn_options bound{.where = bound_to(here)};
  auto head = all.spawn<supervisor>(bound, supervision{}, child<loner>("loner").options(bound));
  here.run_until_idle();
  auto found = head.ask<find_child<loner>>(patience, "loner");
  here.run_until_idle();
  const weak_ref<loner> child = [&] {
    const ref<loner> one = std::move(found).get().value();
    one.send(loner::hold{});
    return weak_ref<loner>(one);
  }();
  here.run_until_idle();
  EXPECT_EQ(all.collect_cycles(), 0u);
  here.run_until_idle();
  EXPECT_TRUE(child.lock());
  head.stop();
  here.run_until_idle();
  EXPECT_FALSE(child.lock());
}

}  // namespace
}  // namespace troupe::test
