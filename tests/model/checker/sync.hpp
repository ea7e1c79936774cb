// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <troupe/base/clock.hpp>
#include <troupe/sync/orders.hpp>
#include <type_traits>
#include <utility>

#include "engine.hpp"

// Replaces the headers in include/troupe/sync in checked code. Names and meaning are the same.

namespace troupe {
inline namespace checked {

template <class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(model::bits));
  using where = std::source_location;
  using memory_order = std::memory_order;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  // Without a location: Clang 16 does not accept current() as a default argument here, where a
  // constructor that the compiler generates calls this one for the elements of an array.
  constexpr atomic() noexcept
    requires std::is_default_constructible_v<T>
      : atomic(T{}, where{}) {}
  constexpr atomic(T initial, where at = where::current()) noexcept : value_(initial) {
    if (!std::is_constant_evaluated()) model::detail::born(cell(), at);
  }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  constexpr ~atomic() {
    if (!std::is_constant_evaluated()) model::detail::given_back(&value_, sizeof(T));
  }

  [[nodiscard]] T load(memory_order order = std::memory_order_seq_cst,
                       where at = where::current()) const noexcept {
    return from_bits(model::detail::load(cell(), order, at));
  }
  void store(T value, memory_order order = std::memory_order_seq_cst,
             where at = where::current()) noexcept {
    model::detail::store(cell(), to_bits(value), order, at);
  }
  T exchange(T value, memory_order order = std::memory_order_seq_cst,
             where at = where::current()) noexcept {
    return change(model::detail::change::exchange, to_bits(value), order, at);
  }

  bool compare_exchange_weak(T& expected, T desired, memory_order success, memory_order failure,
                             where at = where::current()) noexcept {
    return compare_exchange(expected, desired, success, failure, true, at);
  }
  bool compare_exchange_strong(T& expected, T desired, memory_order success, memory_order failure,
                               where at = where::current()) noexcept {
    return compare_exchange(expected, desired, success, failure, false, at);
  }
  bool compare_exchange_weak(T& expected, T desired, memory_order order = std::memory_order_seq_cst,
                             where at = where::current()) noexcept {
    return compare_exchange(expected, desired, order, without_release(order), true, at);
  }
  bool compare_exchange_strong(T& expected, T desired,
                               memory_order order = std::memory_order_seq_cst,
                               where at = where::current()) noexcept {
    return compare_exchange(expected, desired, order, without_release(order), false, at);
  }

  T fetch_add(T by, memory_order order = std::memory_order_seq_cst,
              where at = where::current()) noexcept
    requires std::integral<T>
  {
    return change(model::detail::change::add, to_bits(by), order, at);
  }
  T fetch_sub(T by, memory_order order = std::memory_order_seq_cst,
              where at = where::current()) noexcept
    requires std::integral<T>
  {
    return change(model::detail::change::subtract, to_bits(by), order, at);
  }
  T fetch_and(T by, memory_order order = std::memory_order_seq_cst,
              where at = where::current()) noexcept
    requires std::integral<T>
  {
    return change(model::detail::change::bit_and, to_bits(by), order, at);
  }
  T fetch_or(T by, memory_order order = std::memory_order_seq_cst,
             where at = where::current()) noexcept
    requires std::integral<T>
  {
    return change(model::detail::change::bit_or, to_bits(by), order, at);
  }
  T fetch_xor(T by, memory_order order = std::memory_order_seq_cst,
              where at = where::current()) noexcept
    requires std::integral<T>
  {
    return change(model::detail::change::bit_xor, to_bits(by), order, at);
  }

  /// The location of the value, for the functions below.
  [[nodiscard]] model::detail::cell cell() const noexcept {
    return {const_cast<T*>(&value_), sizeof(T)};
  }

 private:
  static model::bits to_bits(T value) noexcept {
    model::bits raw = 0;
    std::memcpy(&raw, &value, sizeof(T));
    return raw;
  }
  static T from_bits(model::bits raw) noexcept {
    T value;
    std::memcpy(static_cast<void*>(&value), &raw, sizeof(T));
    return value;
  }
  static constexpr memory_order without_release(memory_order order) noexcept {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    if (order == std::memory_order_release) return std::memory_order_relaxed;
    return order;
  }
  T change(model::detail::change how, model::bits operand, memory_order order, where at) noexcept {
    return from_bits(model::detail::read_modify_write(cell(), how, operand, order, at));
  }
  bool compare_exchange(T& expected, T desired, memory_order success, memory_order failure,
                        bool weak, where at) noexcept {
    model::bits raw = to_bits(expected);
    const bool done =
        model::detail::compare_exchange(cell(), raw, to_bits(desired), success, failure, weak, at);
    if (!done) expected = from_bits(raw);
    return done;
  }

  T value_;
};

inline void cpu_relax(std::source_location at = std::source_location::current()) noexcept {
  model::detail::yield(at);
}

// ── Waiting ───────────────────────────────────────────────────────────────────────────────────

inline void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::source_location at = std::source_location::current()) noexcept {
  (void)model::detail::futex_wait(word.cell(), expected, false, at);
}

/// Any deadline may pass at any time, except time_point::max().
[[nodiscard]] inline bool futex_wait_until(
    const atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline,
    std::source_location at = std::source_location::current()) noexcept {
  return model::detail::futex_wait(word.cell(), expected, deadline != time_point::max(), at);
}

inline void futex_wake(const atomic<std::uint32_t>& word, std::uint32_t count,
                       std::source_location at = std::source_location::current()) noexcept {
  model::detail::futex_wake(word.cell().at, count, at);
}

class mutex {
 public:
  constexpr mutex() noexcept {
    if (!std::is_constant_evaluated()) model::detail::mutex_born(&place_);
  }
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  constexpr ~mutex() {
    if (!std::is_constant_evaluated()) model::detail::mutex_ends(&place_);
  }

  void lock(std::source_location at = std::source_location::current()) noexcept {
    model::detail::lock(&place_, at);
  }
  [[nodiscard]] bool try_lock(std::source_location at = std::source_location::current()) noexcept {
    return model::detail::try_lock(&place_, at);
  }
  void unlock(std::source_location at = std::source_location::current()) noexcept {
    model::detail::unlock(&place_, at);
  }

 private:
  char place_ = 0;
};

// ── Threads ───────────────────────────────────────────────────────────────────────────────────

using thread_id = int;

class thread {
 public:
  thread() = default;
  template <class Body>
    requires(!std::same_as<std::remove_cvref_t<Body>, thread>)
  explicit thread(Body&& body, std::source_location at = std::source_location::current())
      : index_(model::detail::start(std::forward<Body>(body), {}, at)) {}
  thread(std::string name, std::function<void()> body,
         std::source_location at = std::source_location::current())
      : index_(model::detail::start(std::move(body), std::move(name), at)) {}
  thread(thread&& other) noexcept : index_(std::exchange(other.index_, none)) {}
  thread& operator=(thread&& other) noexcept {
    std::swap(index_, other.index_);
    return *this;
  }
  ~thread() {
    if (joinable()) model::detail::fail("a thread that was not joined is destroyed", {});
  }

  [[nodiscard]] bool joinable() const noexcept { return index_ != none; }
  void join(std::source_location at = std::source_location::current()) noexcept {
    model::detail::join(static_cast<model::thread_index>(std::exchange(index_, none)), at);
  }

 private:
  static constexpr int none = -1;
  int index_ = none;
};

class jthread : public thread {
 public:
  using thread::thread;
  jthread(jthread&&) = default;
  jthread& operator=(jthread&&) = default;
  ~jthread() {
    if (joinable()) join();
  }
};

inline void name_this_thread(std::string_view name) noexcept {
  model::detail::name_this_thread(name);
}

[[nodiscard]] inline thread start_thread(
    std::string name, std::function<void()> body,
    std::source_location at = std::source_location::current()) {
  return thread(std::move(name), std::move(body), at);
}

[[nodiscard]] inline thread_id this_thread_id() noexcept { return model::detail::this_thread(); }

[[nodiscard]] inline std::uint32_t this_thread_number() noexcept {
  return static_cast<std::uint32_t>(model::detail::this_thread()) + 1;
}

/// One T for each thread, created when the thread first uses it.
template <class T, class Tag = T>
class per_thread {
 public:
  [[nodiscard]] static T& here() noexcept {
    return *static_cast<T*>(model::detail::own(
        &key_, []() -> void* { return new T{}; }, [](void* it) { delete static_cast<T*>(it); }));
  }

 private:
  static constinit inline char key_ = 0;
};

/// One T in each execution, created when it is first used, and destroyed after all threads.
template <class T, class Tag = T>
class per_process {
 public:
  [[nodiscard]] static T& here() {
    return *static_cast<T*>(model::detail::shared(
        &key_, []() -> void* { return new T{}; }, [](void* it) { delete static_cast<T*>(it); }));
  }

 private:
  static constinit inline char key_ = 0;
};

}  // namespace checked
}  // namespace troupe
