// SPDX-License-Identifier: Apache-2.0

#include "shared_wakeup.hpp"

#include <troupe/detail/sync/per_thread.hpp>

namespace troupe::http::detail {

using troupe::detail::schedule_batch;

namespace {

struct of_this_thread {
  schedule_batch* waiting = nullptr;
};

schedule_batch*& waiting_here() noexcept { return per_thread<of_this_thread>::here().waiting; }

}  // namespace

flush_later::flush_later(std::unique_ptr<schedule_batch> batch) noexcept
    : batch_(std::move(batch)) {
  waiting_here() = batch_.get();
}

flush_later::~flush_later() { (*this)(); }

void flush_later::operator()() noexcept {
  if (batch_ == nullptr) return;
  if (waiting_here() == batch_.get()) waiting_here() = nullptr;
  batch_.reset();
}

schedule_batch* flush_later::waiting() noexcept { return waiting_here(); }

}  // namespace troupe::http::detail
