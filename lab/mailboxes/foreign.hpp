// SPDX-License-Identifier: Apache-2.0
#pragma once

// Queues of other libraries, for comparison. They do not report whether there is a reader. They
// order memory by fences and by reads that ThreadSanitizer reports, so they are left out under it.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#ifdef TROUPE_LAB_BOOST_LOCKFREE
#include <boost/lockfree/queue.hpp>
#endif
#ifdef TROUPE_LAB_MOODYCAMEL
#include <concurrentqueue/concurrentqueue.h>
#endif

#include "lab/mailboxes/candidate.hpp"

namespace troupe::lab {

#ifdef TROUPE_LAB_BOOST_LOCKFREE
/// boost::lockfree::queue: Michael and Scott's, with nodes that it never frees. It holds only
/// trivially copyable objects, so this adapter boxes all others.
template <class M>
class boost_lockfree {
 public:
  using value_type = M;

  explicit boost_lockfree(std::size_t = no_limit) {}
  ~boost_lockfree() {
    drain([](M&&) {});
  }

  pushed push(M&& message) {
    if constexpr (in_place) {
      queue_.push(message);
    } else {
      auto boxed = std::make_unique<M>(std::move(message));
      queue_.push(boxed.get());
      boxed.release();
    }
    return pushed::to_busy;
  }

  template <class Handle>
  std::size_t drain(Handle&& handle, std::size_t most = no_limit) {
    std::size_t handled = 0;
    for (stored message; handled < most && queue_.pop(message); ++handled) {
      if constexpr (in_place) {
        handle(std::move(message));
      } else {
        handle(std::move(*std::unique_ptr<M>(message)));
      }
    }
    return handled;
  }

 private:
  static constexpr bool in_place = std::is_trivially_copyable_v<M> && sizeof(M) <= 1'024;
  using stored = std::conditional_t<in_place, M, M*>;

  boost::lockfree::queue<stored> queue_{128};
};
#endif

#ifdef TROUPE_LAB_MOODYCAMEL
/// moodycamel::ConcurrentQueue, one at a time or `Bulk` at a time, with or without its tokens.
template <class M, bool Tokens, std::size_t Bulk = 1>
class moodycamel_queue {
  using queue = moodycamel::ConcurrentQueue<M>;

 public:
  using value_type = M;

  explicit moodycamel_queue(std::size_t = no_limit) {}

  class sender {
   public:
    explicit sender(moodycamel_queue& to) : to_(to.queue_), token_(to.queue_) {}

    pushed push(M&& message) {
      if constexpr (Tokens) {
        to_.enqueue(token_, std::move(message));
      } else {
        to_.enqueue(std::move(message));
      }
      return pushed::to_busy;
    }

    pushed push_all(std::span<M> messages) {
      const auto from = std::make_move_iterator(messages.begin());
      if constexpr (Tokens) {
        to_.enqueue_bulk(token_, from, messages.size());
      } else {
        to_.enqueue_bulk(from, messages.size());
      }
      return pushed::to_busy;
    }

   private:
    struct no_token {
      explicit no_token(queue&) {}
    };
    queue& to_;
    [[no_unique_address]] std::conditional_t<Tokens, moodycamel::ProducerToken, no_token> token_;
  };

  template <class Handle>
  std::size_t drain(Handle&& handle, std::size_t most = no_limit) {
    std::size_t handled = 0;
    while (handled < most) {
      if constexpr (Bulk > 1) {
        const std::size_t got = Tokens ? queue_.try_dequeue_bulk(token_, some_.begin(), Bulk)
                                       : queue_.try_dequeue_bulk(some_.begin(), Bulk);
        for (std::size_t i = 0; i < got; ++i) handle(std::move(some_[i]));
        handled += got;
        if (got == 0) break;
      } else {
        M& message = some_.front();
        if (!(Tokens ? queue_.try_dequeue(token_, message) : queue_.try_dequeue(message))) break;
        handle(std::move(message));
        ++handled;
      }
    }
    return handled;
  }

 private:
  queue queue_;
  moodycamel::ConsumerToken token_{queue_};
  std::array<M, Bulk> some_{};
};
#endif

}  // namespace troupe::lab
