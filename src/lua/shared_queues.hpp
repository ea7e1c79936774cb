// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/sync/mutex.hpp>

#include "shares.hpp"
#include "telling.hpp"

namespace troupe::lua::detail {

/// What a queue has, and what it has done.
struct queue_statistics {
  std::string name;
  std::uint64_t items = 0;    // at the moment
  std::uint64_t waiting = 0;  // consumers, at the moment
  std::uint64_t pushed = 0;
  std::uint64_t taken = 0;
  std::uint64_t refused = 0;  // for want of room
};

/// Queues that have names: bounded, for any number of producers and consumers.
///
/// An item stays in its queue until somebody takes it. A consumer that finds none stands in line, and is told when
/// there is one for him; he takes it when he has come to it, and if he does not come, the next one is told:
///
///   line_up() ──▶ in line ──there is an item──▶ told ──take_told()──▶ has it
///                    ▲                            │ none: another one was quicker
///                    └────────────────────────────┘
///
/// Threads:   any.
/// Invariant: as many are told as there are items, or all who are in line. Who is told first has come first.
/// Cost:      a mutex of all queues.
class shared_queues {
 public:
  using id = std::uint64_t;
  using ticket = std::uint64_t;
  static constexpr std::size_t capacity_usual = 1'000;
  static constexpr std::size_t capacity_max = 1'000'000;
  static constexpr std::size_t item_bytes = 64;

  /// `percent`: of both, what one application may have.
  shared_queues(std::size_t queues_max, std::size_t bytes_max, unsigned percent = 100)
      : made_(queues_max, percent), bytes_(bytes_max, percent) {}
  shared_queues(const shared_queues&) = delete;
  shared_queues& operator=(const shared_queues&) = delete;

  struct opened {
    enum class outcome : std::uint8_t { done, too_many, another_capacity } what = outcome::done;
    shared_queues::id id = 0;
    std::size_t capacity = 0;
  };
  /// The queue of that name, which is made if there is none. A capacity that somebody has said once stays.
  /// If it is made it is `application`'s.
  opened open(std::string_view name, std::optional<std::size_t> capacity,
              std::string_view application = {});

  enum class pushed : std::uint8_t { done, full, closed };
  pushed push(id to, std::string item, std::string_view application = {});

  struct taken {
    enum class outcome : std::uint8_t { item, none, closed } what = outcome::none;
    std::string item;
    std::string application = {};  // who has put it in
  };
  /// The oldest one, whoever waits.
  taken take(id from);
  /// The oldest one that nobody has been told of.
  taken take_unpromised(id from);
  /// What could not be used is the oldest again, even in a full queue.
  void put_back(id to, taken item);

  /// Stands in line; `whom` is told `what`, maybe at once. Nothing: there is no such queue any more.
  std::optional<ticket> line_up(id at, const teller& whom, std::uint64_t what);
  /// For who was told. With an item, or if it is closed, he is not in line any more.
  taken take_told(id from, ticket which);
  void leave(id from, ticket which);

  [[nodiscard]] std::size_t count(id of) const;
  /// Nothing can be put into it any more; when all is taken out, it is gone. False: it was closed before.
  bool close(id which);

  [[nodiscard]] std::vector<queue_statistics> statistics() const;
  /// What could not be put back, since its queue was gone.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct consumer {
    teller whom;
    std::uint64_t what = 0;
  };
  struct queued {
    std::string item;
    std::string application;

    [[nodiscard]] std::size_t cost() const noexcept { return item.size() + item_bytes; }
  };
  struct queue {
    std::string name;
    std::string application;
    std::size_t capacity = capacity_usual;
    bool capacity_is_said = false;
    bool closed = false;
    std::deque<queued> items;
    std::map<ticket, consumer> untold;
    std::map<ticket, consumer> told;
    queue_statistics counts;
  };

  // All with the mutex.
  [[nodiscard]] queue* find(id which);
  taken take_first(id from, queue& its);
  void tell_who_can(queue& its, to_be_told& whom);
  void end_if_done(id which, queue& its);

  mutable mutex mutex_;  // guards what follows
  shares made_;
  shares bytes_;
  std::map<id, queue> queues_;
  std::map<std::string, id, std::less<>> names_;  // of those that are not closed
  id last_id_ = 0;
  ticket last_ticket_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace troupe::lua::detail
