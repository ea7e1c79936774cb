// SPDX-License-Identifier: Apache-2.0
// An allocation fails while the gate lets a connection in: what it had counted is taken back.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include <troupe/actor/observer.hpp>
#include <troupe/detail/sync/atomic.hpp>

#include "actor/counted_allocations_test.hpp"
#include "request_access.hpp"
#include "router.hpp"
#include "test_server.hpp"

namespace troupe::http::test {
namespace {

/// Lets one allocation of the gate fail, in its next handler of a connection.
class failing_gate final : public observer {
 public:
  void begun(const message_event& what) override {
    if (!is_connection(what)) return;
    troupe::test::allocation_that_fails = next_.exchange(0);
    is_armed_ = troupe::test::allocation_that_fails != 0;
  }
  void done(const message_event& what) override {
    if (is_connection(what)) is_over();
  }
  void failed(const failure&) override { is_over(); }

  void let_fail(std::uint64_t which) noexcept { next_ = which; }
  /// Of the handlers that have ended.
  [[nodiscard]] std::uint64_t handled() const noexcept { return handled_; }
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

 private:
  static bool is_connection(const message_event& what) noexcept {
    return what.message.ends_with("net::accepted");
  }
  void is_over() noexcept {
    if (is_armed_ && troupe::test::allocation_that_fails == 0) ++failures_;
    troupe::test::allocation_that_fails = 0;
    is_armed_ = false;
    ++handled_;
  }

  atomic<std::uint64_t> next_{0};
  atomic<std::uint64_t> handled_{0};
  atomic<std::uint64_t> failures_{0};
  bool is_armed_ = false;  // only the gate's thread uses it
};

class no_memory : public served {
 protected:
  explicit no_memory(std::shared_ptr<failing_gate> gate = std::make_shared<failing_gate>())
      : served({.workers = 1, .observer = gate}), gate_(std::move(gate)) {}

  void SetUp() override {
    if (troupe::test::sanitized) GTEST_SKIP() << "the sanitizer has its own operator new";
    http::options o = on_free_port();
    o.limits.connections_max = 1;
    start(std::move(o), [](http::server& s) {
      s.route("GET", "/hello", [](const request&) { return response::text("hello\n"); });
    });
  }

  const std::shared_ptr<failing_gate> gate_;
};

TEST_F(no_memory, for_a_connection_gives_its_place_to_the_next) {
  std::uint64_t failed = 0;
  for (std::uint64_t which = 1;; ++which) {
    ASSERT_LT(which, 1000u);
    const std::uint64_t before = gate_->handled();
    gate_->let_fail(which);
    raw_client one = connect();
    ASSERT_TRUE(comes_true([&] { return gate_->handled() > before; }));
    one.hang_up();
    if (gate_->failures() == failed) break;
    ++failed;
    ASSERT_TRUE(comes_true([&] { return statistics().connections == 0; }, 5s))
        << "after the failure of allocation " << which;
    // It is the only one that may be there.
    raw_client next = connect();
    ASSERT_EQ(next.get("/hello").status, 200u) << "after the failure of allocation " << which;
    next.hang_up();
    ASSERT_TRUE(comes_true([&] { return statistics().connections == 0; }, 5s));
  }
  EXPECT_GE(failed, 3u) << "of its address, of the actor, and of what the gate has of it";
  EXPECT_EQ(statistics().refused_full, 0u);
}

using finding_routes = troupe::test::of_allocations;

TEST_F(finding_routes, and_their_parameters_needs_no_memory) {
  detail::router routes;
  routes.add("GET", "/accounts/{id}/entries/{entry}", [](const request&) { return response{}; });
  routes.add("GET", "/files/{rest...}", [](const request&) { return response{}; });
  for (const char* target : {"/accounts/7/entries/a%2Fb", "/accounts/7/entries/8",
                             "/files/a/b/c/d/e/f", "/accounts/7/other/8", "/%66iles/%2F"}) {
    request asked = detail::request_access::make("GET", target, {}, "peer", false);
    const auto round = [&] {
      const detail::router::match found =
          routes.find(asked.path(), detail::request_access::sent_path(asked));
      if (found.at == nullptr) return;
      detail::request_access::set_pattern(asked, found.at->parameters);
      const bool is_file = found.at->pattern.text.starts_with("/files");
      (void)asked.path(is_file ? "rest" : "entry");
    };
    EXPECT_EQ(least_of_some_rounds(round), 0u) << target;
  }
}

}  // namespace
}  // namespace troupe::http::test
