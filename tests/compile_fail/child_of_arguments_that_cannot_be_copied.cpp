// SPDX-License-Identifier: Apache-2.0
// Each incarnation of a child is created from new copies of its arguments. The error names the
// actor and the arguments.
// expect-error: child_needs_arguments_that_can_be_copied
// expect-error: account
// expect-error: unique_ptr
#include <memory>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>
#include <utility>

struct account : troupe::actor {
  explicit account(std::unique_ptr<long> cents) : cents_(std::move(cents)) {}
  void on(long more) { *cents_ += more; }

 private:
  std::unique_ptr<long> cents_;
};

void use() {
  (void)troupe::child<account>("alice", [] { return account(std::make_unique<long>(100)); });
#ifdef MUST_NOT_COMPILE
  (void)troupe::child<account>("bob", std::make_unique<long>(100));
#endif
}
