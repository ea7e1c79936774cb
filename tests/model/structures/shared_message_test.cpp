// SPDX-License-Identifier: Apache-2.0
// A message to many recipients. The holder of the last reference may move from it. It is freed
// once, after all reads.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <troupe/detail/supervision/shared_message.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct text {
  explicit text(int of) : value(of) {}
  plain<int> value;
};
using message = shared_message<text>;

void read(message& it) {
  require(it.value.value == 7, "nobody has taken it apart");
  let_go(it);
}

// Like a handler that takes its argument by value.
void take(message& it) {
  require(it.value.value == 7, "nobody has taken it apart");
  if (varies(is_last(it), "it is the last one")) it.value.value = 0;
  let_go(it);
}

TEST(shared_message, is_taken_apart_after_all_others_have_read_it) {
  expect_holds([] {
    message& it = make_shared_message<text>(2, 7);
    jthread reader([&] { read(it); });
    take(it);
  });
}

TEST(shared_message, is_taken_apart_by_only_one_of_its_consumers) {
  expect_holds([] {
    message& it = make_shared_message<text>(3, 7);
    jthread one([&] { take(it); });
    jthread other([&] { take(it); });
    read(it);
  });
}

TEST(shared_message, is_freed_once_when_spare_references_are_given_back) {
  expect_holds([] {
    message& it = make_shared_message<text>(1, 7);
    hold(it);
    hold(it);
    jthread reader([&] { read(it); });
    let_go(it, 2);
  });
}

}  // namespace
}  // namespace troupe::detail
