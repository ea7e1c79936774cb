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

#include "notifier.hpp"
#include "shares.hpp"

namespace troupe::lua::detail {

/// The state of a queue, and counts of its events.
struct queue_statistics {
  std::string name;
  std::uint64_t items = 0;    // current number
  std::uint64_t waiting = 0;  // current number of consumers
  std::uint64_t pushed = 0;
  std::uint64_t taken = 0;
  std::uint64_t refused = 0;  // because a limit was reached
};

/// Named, bounded queues for any number of producers and consumers.
///
/// An item stays in its queue until a consumer takes it. A consumer that finds the queue empty
/// joins a line and is notified when there is an item for it. It takes the item in its own turn. If
/// it does not, the next consumer is notified:
///
///   line_up() ──▶ in line ──there is an item──▶ notified ──take_told()──▶ has it
///                    ▲                            │ none: another consumer was faster
///                    └────────────────────────────┘
///
/// Threads:   any.
/// Invariant: the number of notified consumers equals the number of items, or all consumers in line
///            are notified. Consumers are notified in the order in which they lined up.
/// Cost:      one mutex for all queues.
class shared_queues {
 public:
  using id = std::uint64_t;
  using ticket = std::uint64_t;
  static constexpr std::size_t capacity_usual = 1'000;
  static constexpr std::size_t capacity_max = 1'000'000;
  static constexpr std::size_t item_bytes = 64;

  /// `percent` is the share of both limits that one application may have.
  shared_queues(std::size_t queues_max, std::size_t bytes_max, unsigned percent = 100)
      : made_(queues_max, percent), bytes_(bytes_max, percent) {}
  shared_queues(const shared_queues&) = delete;
  shared_queues& operator=(const shared_queues&) = delete;

  struct opened {
    enum class outcome : std::uint8_t { done, too_many, another_capacity } what = outcome::done;
    shared_queues::id id = 0;
    std::size_t capacity = 0;
  };
  /// Returns the queue of that name, and creates it for `application` if it does not exist. The
  /// first capacity that is given remains.
  opened open(std::string_view name, std::optional<std::size_t> capacity,
              std::string_view application = {});

  enum class pushed : std::uint8_t { done, full, closed };
  pushed push(id to, std::string item, std::string_view application = {});

  struct taken {
    enum class outcome : std::uint8_t { item, none, closed } what = outcome::none;
    std::string item;
    std::string application = {};  // the application that put it in
  };
  /// Takes the oldest item, even if consumers wait.
  taken take(id from);
  /// Takes the oldest item that was not announced to a consumer.
  taken take_unpromised(id from);
  /// Returns an item that could not be used. It becomes the oldest again, even in a full queue.
  void put_back(id to, taken item);

  /// Joins the line. `whom` is notified with `what`, possibly at once. Returns nothing if the queue
  /// no longer exists.
  std::optional<ticket> line_up(id at, const notifier& whom, std::uint64_t what);
  /// For a notified consumer. It leaves the line if it gets an item or the queue is closed.
  taken take_told(id from, ticket which);
  void leave(id from, ticket which);

  [[nodiscard]] std::size_t count(id of) const;
  /// Closes a queue to new items. It is removed when its last item is taken. Returns false if it
  /// was closed before.
  bool close(id which);

  [[nodiscard]] std::vector<queue_statistics> statistics() const;
  /// Number of items that could not be put back because their queue was gone.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct consumer {
    notifier whom;
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

  // All of these require the mutex.
  [[nodiscard]] queue* find(id which);
  taken take_first(id from, queue& its);
  void tell_who_can(queue& its, pending_notifications& whom);
  void end_if_done(id which, queue& its);

  mutable mutex mutex_;  // guards the members below
  shares made_;
  shares bytes_;
  std::map<id, queue> queues_;
  std::map<std::string, id, std::less<>> names_;  // queues that are not closed
  id last_id_ = 0;
  ticket last_ticket_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace troupe::lua::detail
