// SPDX-License-Identifier: Apache-2.0
// In a steady state, neither publishing nor a restart after stop() allocates memory.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "actor/counted_allocations_test.hpp"

namespace troupe::test {
namespace {

template <std::size_t Bytes>
struct news {
  std::array<char, Bytes> bytes{};
};

template <std::size_t Bytes>
class reader : public actor {
 public:
  explicit reader(int& read) : read_(read) {}
  void on(const news<Bytes>&) { ++read_; }

 private:
  int& read_;
};

class allocation : public of_allocations {
 protected:
  // Everything runs on this thread.
  system all{{.workers = 1}};
  pump here{all};
  const spawn_options on_this_thread{.where = bound_to(here)};

  template <std::size_t Bytes>
  void check_publishing(topic_options options = {}) {
    int read = 0;
    const topic<news<Bytes>> of(options);
    std::array<ref<reader<Bytes>>, 10> readers;
    for (auto& one : readers) {
      one = all.spawn<reader<Bytes>>(on_this_thread, read);
      of.subscribe(one);
    }
    here.run_until_idle();
    EXPECT_EQ(least_of_some_rounds([&] {
                read = 0;
                for (int i = 0; i < 100; ++i) {
                  EXPECT_EQ(of.publish(news<Bytes>{}).reached(), readers.size());
                  here.run_until_idle();
                }
                EXPECT_EQ(read, 1'000);
              }),
              0u)
        << Bytes << " bytes";
  }
};

TEST_F(allocation, publishing_does_not_allocate) {
  static_assert(detail::copied_to_each<news<32>> && !detail::copied_to_each<news<64>>);
  check_publishing<8>();
  check_publishing<32>();
  check_publishing<64>();
  check_publishing<1'024>();
  check_publishing<8>({.retain_last = true});
  check_publishing<1'024>({.retain_last = true});
}

class brief : public actor {};

TEST_F(allocation, a_restart_after_stop_does_not_allocate) {
  auto spec = child<brief>("brief");
  spec.restart_policy(restart::always).options(on_this_thread);
  const auto top = all.spawn<supervisor>(
      on_this_thread,
      supervision{.max_restarts = supervision::unlimited, .min_backoff = {}, .max_backoff = {}},
      spec);
  here.run_until_idle();
  auto answer = top.ask<find_child<brief>>(patience, "brief");
  here.run_until_idle();
  const auto it = std::move(answer).get().value();
  std::uint64_t stops = 0;
  EXPECT_EQ(least_of_some_rounds([&] {
              for (int i = 0; i < 100; ++i, ++stops) {
                it.stop();
                here.run_until_idle();
              }
            }),
            0u);
  EXPECT_EQ(all.statistics().restarts, stops);
  top.stop();
  here.run_until_idle();
}

}  // namespace
}  // namespace troupe::test
