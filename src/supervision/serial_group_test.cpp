// SPDX-License-Identifier: Apache-2.0
// Children that belong to one serial group.
#include <troupe/actor/serial_group.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

/// The data that the children share without a lock.
struct shared_book {
  std::uint64_t entries = 0;
  std::uint64_t objects = 0;
  bool is_open = false;

  void write() {
    EXPECT_FALSE(std::exchange(is_open, true)) << "two at a time";
    ++entries;
    is_open = false;
  }
};

struct line {
  int number;
};

/// Each incarnation is constructed and terminates in turns of its group. Every tenth line fails it.
class clerk : public actor {
 public:
  clerk(shared_book& book, atomic<int>& left) : book_(book), left_(left) {
    book_.write();
    ++book_.objects;
  }
  clerk(const clerk&) = delete;
  clerk& operator=(const clerk&) = delete;
  ~clerk() { book_.write(); }
  void on(line l) {
    book_.write();
    --left_;
    if (l.number % 10 == 0) throw std::runtime_error("a blot");
  }

 private:
  shared_book& book_;
  atomic<int>& left_;
};

class children_of_one_group : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, children_of_one_group, testing::Values(1u, 2u, 3u, 16u));

TEST_P(children_of_one_group, are_restarted_in_its_turns) {
  constexpr int children = 3;
  constexpr int lines = sanitized ? 100 : 500;
  const auto book = std::make_unique<shared_book>();
  atomic<int> left{children * lines};
  {
    system s({.workers = GetParam(), .on_failure = [](const failure&) {}});
    const serial_group group(s);
    std::vector<child_spec> all;
    for (int i = 0; i < children; ++i) {
      all.push_back(child<clerk>(std::to_string(i), [&left, at = book.get()] {
                      return clerk(*at, left);
                    }).options({.group = group}));
    }
    const auto above = s.spawn<supervisor>(
        supervision{.max_restarts = supervision::unlimited, .min_backoff = 0ms, .max_backoff = 0ms},
        all);
    for (int i = 0; i < children; ++i) {
      const auto one = above.ask<find_child<clerk>>(patience, std::to_string(i)).get().value();
      for (int n = 1; n <= lines; ++n) one.send(line{n});
    }
    EXPECT_TRUE(eventually([&] { return left == 0; })) << left;
    above.stop();
    above.join();
  }
  const auto objects = static_cast<std::uint64_t>(children * (1 + lines / 10));
  EXPECT_GE(book->objects, objects - children) << "the last failures may come after the stop";
  EXPECT_LE(book->objects, objects);
  EXPECT_EQ(book->entries, 2 * book->objects + children * lines);
}

}  // namespace
}  // namespace troupe::test
