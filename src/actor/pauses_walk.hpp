// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_set>
#include <vector>

#include <troupe/message/address.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

#include "pauses.hpp"
#include "wait_search.hpp"

namespace troupe::detail {

/// State that all systems of the process share, because actors of one system wait for those of
/// another.
struct waits_of_all {
  [[nodiscard]] static waits_of_all& here() noexcept;

  mutex guard;  // the mutex of the pauses
  // [suspended] Suspended actors, and exclusive handlers that stand in a line.
  atomic<std::uint64_t> suspended{0};

  // Under the mutex:
  std::uint64_t blocking_in_line = 0;
  std::uint64_t waits_begun = 0;  // numbers the waits of suspended actors and of those in lines
  // The cost that a search may have within one slice; 0.2 ms or less. See walk::spend().
  std::uint32_t slice_cost = 4'096;
  // For tests: the waits that searches have looked at in the current slice, at most, and in total.
  std::uint64_t looked_at = 0;
  std::uint64_t looked_at_most = 0;
  std::uint64_t looked_at_in_all = 0;

  wait_search parked;  // its queue
};

/// Follows what actors wait for: see pauses. Used in slices, each under the mutex. Between slices,
/// waits may begin and end. A wait is searched for cycles only after it has begun: if it completes
/// a cycle, all waits of the cycle are there from the first slice on, and stay until one of them is
/// ended from outside. So the search finds the cycle. It may also find a path of waits that never
/// existed together. Therefore it looks at the path again: a wait that has the same number was
/// there all the time, so all of them existed together when the second look began.
///
/// Must be destroyed without the mutex, because the destructor releases the actors that the walk
/// has held. Holds an actor only within a slice and until release().
class pauses::walk {
 public:
  enum class found : std::uint8_t { nothing, cycle, unfinished };

  walk() = default;
  walk(const walk&) = delete;
  walk& operator=(const walk&) = delete;
  ~walk() { release(); }

  /// Call first in each slice.
  void begin_slice() noexcept;
  /// Releases the actors that were held in the slice. Call it without the mutex.
  void release() noexcept;

  /// Whether `from` is `target`, or waits for it directly or through others, as far as this slice
  /// goes. Also a cycle if there is no memory to find out.
  [[nodiscard]] found leads_to(control_block& from, const control_block& target) noexcept;

  /// Begins a search that go_on() continues. `back`: `from` does not count as having arrived.
  /// Throws std::bad_alloc.
  void start(const address& from, const address& target, bool back);
  /// Also a cycle if there is no memory to find out; then suspended() is null.
  [[nodiscard]] found go_on() noexcept;
  /// On the cycle that was found: the first actor that is suspended, or that handles nothing while
  /// it stands in a line. Held until release(). Null: none.
  [[nodiscard]] control_block* suspended() noexcept;

  /// Held until release(). Null: it has terminated. Throws std::bad_alloc.
  [[nodiscard]] control_block* hold(const address& who);

  bool has_parked = false;  // a search that another walk must continue

 private:
  struct step {
    address at;
    std::uint64_t number;  // of the wait that led here; 0: a request did
    std::size_t from;      // the step before
  };
  /// The actors that a search has found. No operation on it takes time for all of them: the deque
  /// does not move its elements, and of the sets only one is rehashed at a time. Only its
  /// destructor does.
  class explored {
   public:
    explored() : seen_(1) {}
    [[nodiscard]] bool is_new(const lifeline* one);

    std::deque<step> steps;

   private:
    static constexpr std::size_t few = 512;
    static constexpr std::size_t parts = 256;
    [[nodiscard]] static std::size_t part_of(const lifeline* one) noexcept;

    std::vector<std::unordered_set<const lifeline*>> seen_;  // one for few actors, or `parts`
  };
  [[nodiscard]] bool spend(std::uint32_t cost) noexcept;
  void add(const address& to, std::uint64_t number, std::size_t from);
  void look_at(std::size_t which);
  [[nodiscard]] bool is_still_there(const step& one);

  std::uint32_t left_ = 0;  // of the slice's cost
  std::vector<control_block*> held_;
  std::unique_ptr<explored> all_;                   // null: no search has started
  std::vector<std::unique_ptr<explored>> dropped_;  // of earlier searches; freed by release()
  std::vector<address> asked_;
  address target_;
  std::size_t next_ = 0;        // the step to look at next
  std::size_t on_the_way_ = 0;  // of the path that is looked at again; 0: none
  step first_wait_{};           // the step before it, with the number of its wait; 0: none
  std::uint32_t again_ = 0;     // times that a path was no longer there
  bool back_ = false;
  bool has_arrived_ = false;
};

/// A search that continues in slices; see pauses::go_on_searching().
struct pauses::search_in_progress {
  walk along;
  address who;               // the actor whose wait it is
  std::uint64_t number = 0;  // of that wait; 0: no search has begun
  bool is_new = false;       // the search begins with the next slice
};

}  // namespace troupe::detail
