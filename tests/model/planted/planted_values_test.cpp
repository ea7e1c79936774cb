// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <cstdint>

// Bugs planted for the checker to find: values that threads share. A structure is written once, and
// its parameter selects the line that is broken. The unbroken structure must hold, so that a
// finding means something.

namespace troupe {
namespace {

namespace counter {

enum class fault { none, no_lock };

template <fault planted>
class counter {
 public:
  void add_one() {
    if constexpr (planted != fault::no_lock) lock_.lock();
    value_ = value_ + 1;
    if constexpr (planted != fault::no_lock) lock_.unlock();
  }
  [[nodiscard]] int value() const { return value_; }

 private:
  mutex lock_;
  model::plain<int> value_{0};
};

template <fault planted>
void two_add() {
  counter<planted> both;
  {
    jthread left("left", [&] { both.add_one(); });
    jthread right("right", [&] { both.add_one(); });
  }
  model::require(both.value() == 2, "both additions count");
}

TEST(planted_counter, counts_every_addition) { model::expect_holds(two_add<fault::none>); }

TEST(planted_counter, without_a_lock_is_a_data_race) {
  model::expect_fails("data race: right reads", {}, two_add<fault::no_lock>);
}

}  // namespace counter

namespace flag {

enum class fault { none, raised_relaxed, seen_relaxed };

template <fault planted>
void one_hands_over_to_another() {
  // [full] release and acquire: a thread that sees the flag sees the value.
  constexpr auto raising = planted == fault::raised_relaxed ? relaxed : release;
  constexpr auto seeing = planted == fault::seen_relaxed ? relaxed : acquire;
  model::plain<int> value{0};
  atomic<bool> full{false};
  jthread writer("writer", [&] {
    value = 42;
    full.store(true, raising);
  });
  jthread reader("reader", [&] {
    if (full.load(seeing)) model::require(value == 42, "the value is seen with the flag");
  });
}

TEST(planted_flag, shows_earlier_writes) {
  model::expect_holds(one_hands_over_to_another<fault::none>);
}

TEST(planted_flag, raised_with_relaxed_order_does_not_show_earlier_writes) {
  model::expect_fails("data race: reader reads", {},
                      one_hands_over_to_another<fault::raised_relaxed>);
}

TEST(planted_flag, seen_with_relaxed_order_does_not_show_earlier_writes) {
  model::expect_fails("data race: reader reads", {},
                      one_hands_over_to_another<fault::seen_relaxed>);
}

}  // namespace flag

namespace lazy_value {

enum class fault { none, no_lock, first_look_relaxed, published_relaxed, no_second_look };

struct thing {
  model::plain<int> value{42};
};

// Double-checked locking: only threads that come before the value exists take the lock.
template <fault planted>
class lazy_value {
 public:
  lazy_value() = default;
  lazy_value(const lazy_value&) = delete;
  lazy_value& operator=(const lazy_value&) = delete;
  // [made] relaxed: the threads that used it have been joined.
  ~lazy_value() { delete made_.load(relaxed); }

  thing& get() {
    if (thing* const there = made_.load(first_look)) return *there;
    if constexpr (planted != fault::no_lock) lock_.lock();
    // [made] relaxed: the lock orders it.
    thing* there = planted == fault::no_second_look ? nullptr : made_.load(relaxed);
    if (there == nullptr) {
      there = new thing;
      made_.store(there, publishing);
    }
    if constexpr (planted != fault::no_lock) lock_.unlock();
    return *there;
  }

 private:
  // [made] release and acquire: a thread that sees the pointer sees the value.
  static constexpr auto first_look = planted == fault::first_look_relaxed ? relaxed : acquire;
  static constexpr auto publishing = planted == fault::published_relaxed ? relaxed : release;

  mutex lock_;
  atomic<thing*> made_{nullptr};
};

template <fault planted>
void two_ask() {
  lazy_value<planted> shared;
  jthread left("left", [&] { model::require(shared.get().value == 42, "left gets all of it"); });
  jthread right("right", [&] { model::require(shared.get().value == 42, "right gets all of it"); });
}

TEST(planted_lazy_value, is_made_once_and_seen_whole) { model::expect_holds(two_ask<fault::none>); }

TEST(planted_lazy_value, without_a_lock_is_seen_unmade) {
  model::expect_fails("data race: right reads", {}, two_ask<fault::no_lock>);
}

TEST(planted_lazy_value, looked_at_with_relaxed_order_is_seen_unmade) {
  model::expect_fails("data race: right reads", {}, two_ask<fault::first_look_relaxed>);
}

TEST(planted_lazy_value, published_with_relaxed_order_is_seen_unmade) {
  model::expect_fails("data race: right reads", {}, two_ask<fault::published_relaxed>);
}

TEST(planted_lazy_value, without_a_second_look_is_made_twice) {
  model::expect_fails("leak: a block", {}, two_ask<fault::no_second_look>);
}

}  // namespace lazy_value

namespace seqlock {

enum class fault { none, written_relaxed, read_relaxed, finished_relaxed };

// A sequence lock with one writer. The guarded values are atomics: a reader may see them change,
// and then discards what it has read.
template <fault planted>
class seqlock {
 public:
  void write(int value) {
    // [version] relaxed: only the writer writes it.
    const std::uint32_t before = version_.load(relaxed);
    // [version] relaxed: the release of the halves publishes it.
    version_.store(before + 1, relaxed);
    left_.store(value, writing);
    right_.store(value, writing);
    version_.store(before + 2, finishing);
  }

  /// Returns false if a write was in progress.
  bool read(int& left, int& right) const {
    // [version] acquire: an even version comes with the halves of that version.
    const std::uint32_t before = version_.load(acquire);
    if (before % 2 != 0) return false;
    left = left_.load(reading);
    right = right_.load(reading);
    // [version] relaxed: the halves' acquire came first.
    return version_.load(relaxed) == before;
  }

 private:
  // [half] release and acquire: a thread that reads a new half sees that the version has changed.
  static constexpr auto writing = planted == fault::written_relaxed ? relaxed : release;
  static constexpr auto reading = planted == fault::read_relaxed ? relaxed : acquire;
  static constexpr auto finishing = planted == fault::finished_relaxed ? relaxed : release;

  atomic<std::uint32_t> version_{0};
  atomic<int> left_{0};
  atomic<int> right_{0};
};

template <fault planted>
void one_writes_and_one_reads() {
  seqlock<planted> both;
  jthread writer("writer", [&] { both.write(1); });
  jthread reader("reader", [&] {
    int left = 0;
    int right = 0;
    if (both.read(left, right)) {
      model::require(left == right, "the halves are of one version");
    }
  });
}

TEST(planted_seqlock, reads_halves_of_one_version) {
  model::expect_holds(one_writes_and_one_reads<fault::none>);
}

TEST(planted_seqlock, written_with_relaxed_order_is_read_torn) {
  model::expect_fails("broken promise: the halves are of one version", {},
                      one_writes_and_one_reads<fault::written_relaxed>);
}

TEST(planted_seqlock, read_with_relaxed_order_is_read_torn) {
  model::expect_fails("broken promise: the halves are of one version", {},
                      one_writes_and_one_reads<fault::read_relaxed>);
}

TEST(planted_seqlock, finished_with_relaxed_order_is_read_torn) {
  model::expect_fails("broken promise: the halves are of one version", {},
                      one_writes_and_one_reads<fault::finished_relaxed>);
}

}  // namespace seqlock

}  // namespace
}  // namespace troupe
