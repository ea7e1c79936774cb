// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/scheduler/thread_executor.hpp>

#include <utility>

namespace troupe::detail {

thread_executor::~thread_executor() {
  if (thread_.joinable()) thread_.join();
}

void thread_executor::start(runnable& r, std::string name) {
  if (timeline_ != nullptr) lane_ = timeline_->open(name, activity_);
  activity_.lane = lane_.get();
  thread_ = start_thread(std::move(name), [this, &r] { run(r); });
}

void thread_executor::schedule(runnable&) noexcept { parker_.notify(); }

void thread_executor::retire(runnable&) noexcept {
  // [retired] relaxed: read by the same thread, or after the token.
  retired_.store(true, relaxed);
  parker_.notify();
}

void thread_executor::run(runnable& r) noexcept {
  // Leaves only after it has consumed the token from retire(): until then retire() may still access
  // this object.
  for (;;) {
    begins(timeline_slice::kind::parked);
    parker_.park();
    begins(timeline_slice::kind::running);
    if (retired_.load(relaxed)) break;  // [retired]
    while (turn_(r, activity_) == turn_result::again) {
    }
  }
  begins(timeline_slice::kind::nothing);
  // [finished] release: pairs with the owner's acquire in finished(); the last turn is over.
  finished_.store(true, release);
}

bool thread_executor::finished() const noexcept {
  return finished_.load(acquire);  // [finished]
}

}  // namespace troupe::detail
