// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/post.hpp>
#include <memory>
#include <new>
#include <utility>

#include <troupe/scheduler/schedule_batch.hpp>

namespace troupe::http::detail {

/// The handler that runs after those of the sockets that are ready. If it is destroyed instead of
/// being called, the batch is flushed as well.
class flush_later {
 public:
  explicit flush_later(std::unique_ptr<troupe::detail::schedule_batch> batch) noexcept;
  flush_later(flush_later&&) noexcept = default;
  flush_later& operator=(flush_later&&) = delete;
  ~flush_later();

  void operator()() noexcept;

  /// The batch of this thread that such a handler will flush, or null.
  [[nodiscard]] static troupe::detail::schedule_batch* waiting() noexcept;

  /// Flushes that batch now. Call it before this thread runs the program's code, which may take
  /// long or wait for an actor whose wake-up is in the batch.
  static void flush_now() noexcept {
    if (troupe::detail::schedule_batch* const one = waiting()) one->flush();
  }

 private:
  std::unique_ptr<troupe::detail::schedule_batch> batch_;
};

/// While it exists, sessions that get messages are not scheduled one by one, but together with
/// those of the other ready sockets, after the loop has processed all of these. So one poll of the
/// sockets wakes a worker once, and that worker finds all sessions ready.
///
/// Threads: the loop's. One object at a time.
/// Cost:    for the first object in each poll, an allocation and a handler.
template <class Executor>
class shared_wakeup {
 public:
  explicit shared_wakeup(const Executor& on) : on_(on), gathering_(waiting_or(first_)) {}
  shared_wakeup(const shared_wakeup&) = delete;
  shared_wakeup& operator=(const shared_wakeup&) = delete;
  ~shared_wakeup() {
    if (first_ == nullptr || first_->empty()) return;
    try {
      boost::asio::post(on_, flush_later(std::move(first_)));
    } catch (const std::bad_alloc&) {
      // The handler has run and has flushed the batch.
    }
  }

 private:
  using batch = troupe::detail::schedule_batch;

  static batch& waiting_or(std::unique_ptr<batch>& first) {
    if (batch* const one = flush_later::waiting()) return *one;
    first = std::make_unique<batch>();
    return *first;
  }

  const Executor on_;
  std::unique_ptr<batch> first_;  // null if a batch exists already
  const batch::scope gathering_;
};

}  // namespace troupe::http::detail
