// SPDX-License-Identifier: Apache-2.0
// The whole runtime under the checker: systems with their workers, their timers and their actors.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <troupe/troupe.hpp>

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;

struct add {
  int by;
};

system_options small() {
  system_options options;
  options.workers = 1;
  options.shutdown_deadline = duration::max();  // any other may pass at any time
  return options;
}

class counter : public actor {
 public:
  explicit counter(plain<int>& sum) : sum_(sum) {}
  void on(add m) { sum_ = sum_ + m.by; }

 private:
  plain<int>& sum_;
};

TEST(system, what_two_threads_send_is_handled_before_the_end) {
  expect_holds({.random = 2'000}, [] {
    plain<int> sum{0};
    {
      troupe::system all{small()};
      const ref<counter> one = all.spawn<counter>(sum);
      jthread other([&] { one.send(add{1}); });
      one.send(add{2});
    }
    require(sum == 3, "both are handled");
  });
}

}  // namespace
}  // namespace troupe
