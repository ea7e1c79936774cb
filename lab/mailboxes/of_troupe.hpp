// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <troupe/detail/mailbox/mailbox.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <type_traits>
#include <utility>

#include "lab/mailboxes/candidate.hpp"

namespace troupe::lab {

/// The mailbox of Troupe's actors, detail::mailbox, with the envelopes that actors send: what users
/// get. The other mailboxes here are prototypes.
///
/// Threads:   push(): any; the rest: the reader.
/// Cost:      that of detail::mailbox; a message brings its envelope, from the pool.
template <class M>
class of_troupe {
  using envelope_type = detail::message_envelope<M, false>;

 public:
  using value_type = M;

  explicit of_troupe(std::size_t limit = no_limit)
      : most_(static_cast<std::uint32_t>(
            std::min<std::size_t>(limit, detail::mailbox_limits::units_max))),
        units_(limit == no_limit ? 0 : 1),
        quantum_(std::max<std::uint32_t>(1, most_ / 4)) {
    box_.open_busy();
  }
  of_troupe(const of_troupe&) = delete;
  of_troupe& operator=(const of_troupe&) = delete;
  ~of_troupe() {
    close([](M&&) {});
  }

  pushed push(M&& message) {
    // A check before the message moves.
    if (parts_.word.is_closed()) return pushed::closed;
    if (parts_.word.load() > most_) return pushed::full;
    envelope_type* const one = detail::make_envelope<false>(how, std::move(message));
    result got = box_.push(*one, units_, most_);
    while (!std::is_nothrow_move_constructible_v<M> && got == result::full) {
      cpu_relax();  // it cannot be returned
      got = box_.push(*one, units_, most_);
    }
    if (got == result::to_busy) return pushed::to_busy;
    if (got == result::to_idle) return pushed::to_idle;
    if constexpr (std::is_nothrow_move_constructible_v<M>) {
      if (got == result::full) {
        std::destroy_at(&message);
        std::construct_at(&message, std::move(one->value));
      }
    }
    detail::free_envelope(*one);
    return got == result::full ? pushed::full : pushed::closed;
  }

  template <class Handle>
  std::size_t drain(Handle&& handle, std::size_t most = no_limit) {
    std::size_t handled = 0;
    for (; handled < most && (box_.has_ready() || box_.refill(0).messages != 0); ++handled) {
      const free_after done(box_.pop_ready());
      if (units_ != 0 && box_.handled(units_, quantum_)) (void)box_.make_room(0);
      handle(std::move(done.one.value));
    }
    return handled;
  }

  [[nodiscard]] bool rest() noexcept { return box_.rest(); }

  template <class Handle>
  std::size_t close(Handle&& handle) {
    std::size_t left = 0;
    for (detail::envelope* each = box_.close().messages; each != nullptr; ++left) {
      const free_after done(*std::exchange(each, each->next));
      handle(std::move(done.one.value));
    }
    return left;
  }

 private:
  using result = detail::mailbox::pushed;

  struct free_after {
    explicit free_after(detail::envelope& that) : one(static_cast<envelope_type&>(that)) {}
    free_after(const free_after&) = delete;
    free_after& operator=(const free_after&) = delete;
    ~free_after() { detail::free_envelope(one); }
    envelope_type& one;
  };

  // Only for its address: the reader here knows the type of each message.
  static constexpr detail::dispatch how{.run = nullptr, .discard = nullptr, .message = "lab"};

  const std::uint32_t most_;
  const std::size_t units_;  // of a message
  const std::uint32_t quantum_;
  alignas(64) detail::mailbox_parts parts_;
  detail::mailbox box_{parts_.word, parts_.list};
};

}  // namespace troupe::lab
