// SPDX-License-Identifier: Apache-2.0

#include <troupe/detail/scheduler/schedule_batch.hpp>

#include <utility>

#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/scheduler/worker_pool.hpp>
#include <troupe/detail/sync/per_thread.hpp>

namespace troupe::detail {
namespace {

struct of_this_thread {
  schedule_batch* open = nullptr;
};

schedule_batch*& open_here() noexcept { return per_thread<of_this_thread>::here().open; }

}  // namespace

schedule_batch::scope::scope(schedule_batch& into) noexcept {
  TROUPE_EXPECTS(open_here() == nullptr, "a schedule_batch is open on this thread already");
  open_here() = &into;
}

schedule_batch::scope::~scope() { open_here() = nullptr; }

schedule_batch* schedule_batch::here() noexcept { return open_here(); }

void schedule_batch::add(worker_pool& to, runnable& r) noexcept {
  if (pool_ != &to) flush();
  pool_ = &to;
  waiting_.push(r);
  if (++count_ == most) flush();
}

void schedule_batch::flush() noexcept {
  if (empty()) return;
  pool_->inject(std::exchange(waiting_, {}), std::exchange(count_, 0));
}

}  // namespace troupe::detail
