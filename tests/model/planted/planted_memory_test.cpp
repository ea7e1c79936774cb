// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>

// Bugs planted for the checker to find: memory that is given back too early, twice or never. A
// structure is written once, and its parameter selects the line that is broken. The unbroken
// structure must hold, so that a finding means something.

namespace troupe {
namespace {

namespace shared_object {

enum class fault { none, dropped_relaxed, looks_then_stores, counts_then_looks };

struct object {
  model::plain<int> value{42};
};

// Has two owners. The last owner to drop it deletes it.
template <fault planted>
class shared_object {
 public:
  [[nodiscard]] int value() const { return object_->value; }

  void drop() {
    if (count_down() == 0) delete object_;
  }

 private:
  // Returns the number of remaining owners.
  int count_down() {
    if constexpr (planted == fault::looks_then_stores) {
      const int left = owners_.load(acquire) - 1;
      owners_.store(left, release);
      return left;
    }
    // [owners] acq_rel: deletion comes after every use.
    const int left =
        owners_.fetch_sub(1, planted == fault::dropped_relaxed ? relaxed : acq_rel) - 1;
    return planted == fault::counts_then_looks ? owners_.load(acquire) : left;
  }

  object* const object_ = new object;
  atomic<int> owners_{2};
};

template <fault planted>
void two_use_and_drop() {
  shared_object<planted> both;
  const auto use_and_drop = [&] {
    model::require(both.value() == 42, "it is there while one owns it");
    both.drop();
  };
  jthread left("left", use_and_drop);
  jthread right("right", use_and_drop);
}

TEST(planted_shared_object, is_deleted_once_by_its_last_owner) {
  model::expect_holds(two_use_and_drop<fault::none>);
}

TEST(planted_shared_object, dropped_with_relaxed_order_is_deleted_while_it_is_used) {
  model::expect_fails("data race: right gives", {}, two_use_and_drop<fault::dropped_relaxed>);
}

TEST(planted_shared_object, that_looks_and_then_stores_its_count_is_never_deleted) {
  model::expect_fails("leak: a block", {}, two_use_and_drop<fault::looks_then_stores>);
}

TEST(planted_shared_object, that_counts_and_then_looks_is_deleted_twice) {
  model::expect_fails("double free: a block", {}, two_use_and_drop<fault::counts_then_looks>);
}

}  // namespace shared_object

namespace slot {

enum class fault { none, looks_then_clears };

// Keeps one block for the next thread that needs one.
template <fault planted>
class slot {
 public:
  explicit slot(int* first) : kept_(first) {}

  int* take() {
    // [kept] relaxed: it was set before the threads started.
    if constexpr (planted == fault::looks_then_clears) {
      int* const it = kept_.load(relaxed);
      kept_.store(nullptr, relaxed);
      return it;
    }
    return kept_.exchange(nullptr, relaxed);
  }

 private:
  atomic<int*> kept_;
};

template <fault planted>
void two_take() {
  slot<planted> shared(new int);
  jthread left("left", [&] { delete shared.take(); });
  jthread right("right", [&] { delete shared.take(); });
}

TEST(planted_slot, gives_its_block_once) { model::expect_holds(two_take<fault::none>); }

TEST(planted_slot, that_looks_and_then_clears_gives_its_block_twice) {
  model::expect_fails("double free: a block", {}, two_take<fault::looks_then_clears>);
}

}  // namespace slot

namespace settings {

enum class fault { none, published_relaxed, read_relaxed, deleted_at_once, entered_release };

struct values {
  explicit values(int of) : both(of) {}
  model::plain<int> both;
};

// Settings that are read without a lock while they are replaced, as with RCU: the replaced object
// is deleted once no reader uses it. One reader, one writer.
template <fault planted>
class settings {
 public:
  settings() = default;
  settings(const settings&) = delete;
  settings& operator=(const settings&) = delete;
  // [current] relaxed: the readers have been joined.
  ~settings() { delete current_.load(relaxed); }

  [[nodiscard]] int read() {
    reads_.store(true, entering);
    const int value = current_.load(reading)->both;
    // [reads] release: the object read before may be deleted.
    reads_.store(false, release);
    return value;
  }

  void replace(int value) {
    auto* const fresh = new values(value);
    const values* const old = current_.exchange(fresh, publishing);
    if constexpr (planted != fault::deleted_at_once) {
      while (reads_.load(seq_cst)) cpu_relax();
    }
    delete old;
  }

 private:
  // [current] release and acquire: a thread that sees the pointer sees the values.
  // [reads, current] seq_cst: either the reader sees the new values, or the writer sees the reader.
  static constexpr auto publishing = planted == fault::published_relaxed ? relaxed : seq_cst;
  static constexpr auto reading = planted == fault::read_relaxed ? relaxed : seq_cst;
  static constexpr auto entering = planted == fault::entered_release ? release : seq_cst;

  atomic<bool> reads_{false};
  atomic<values*> current_{new values(1)};
};

template <fault planted>
void one_reads_and_one_replaces() {
  settings<planted> shared;
  jthread writer("writer", [&] { shared.replace(2); });
  jthread reader("reader", [&] { model::require(shared.read() != 0, "there are settings"); });
}

TEST(planted_settings, are_read_whole_while_they_are_replaced) {
  model::expect_holds(one_reads_and_one_replaces<fault::none>);
}

TEST(planted_settings, published_with_relaxed_order_are_read_unwritten) {
  model::expect_fails("data race: reader reads", {},
                      one_reads_and_one_replaces<fault::published_relaxed>);
}

TEST(planted_settings, read_with_relaxed_order_are_read_unwritten) {
  model::expect_fails("data race: reader reads", {},
                      one_reads_and_one_replaces<fault::read_relaxed>);
}

TEST(planted_settings, deleted_at_once_are_read_after_their_end) {
  model::expect_fails("use after free: memory", {},
                      one_reads_and_one_replaces<fault::deleted_at_once>);
}

TEST(planted_settings, entered_without_seq_cst_are_read_after_their_end) {
  model::expect_fails("use after free: memory", {},
                      one_reads_and_one_replaces<fault::entered_release>);
}

}  // namespace settings

namespace hazard_pointer {

enum class fault { none, announced_release, no_second_look };

struct node {
  model::plain<int> value{42};
};

// M. M. Michael, «Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects», 2004: a reader
// announces the node that it reads, and checks again that the node is still current.
template <fault planted>
class cell {
 public:
  cell() = default;
  cell(const cell&) = delete;
  cell& operator=(const cell&) = delete;
  // [current] relaxed: the readers have been joined.
  ~cell() { delete current_.load(relaxed); }

  [[nodiscard]] int read() {
    node* seen = nullptr;
    do {
      seen = current_.load(acquire);  // [current] the contents of the node
      announced_.store(seen, planted == fault::announced_release ? release : seq_cst);
    } while (planted != fault::no_second_look && current_.load(seq_cst) != seen);
    const int value = seen->value;
    // [announced] release: the node read before may be deleted.
    announced_.store(nullptr, release);
    return value;
  }

  void replace() {
    const node* const old = current_.exchange(new node, seq_cst);
    while (announced_.load(seq_cst) == old) cpu_relax();
    delete old;
  }

 private:
  // [announced, current] seq_cst: either the reader sees that the node has been replaced, or the
  // writer sees that it is announced.
  atomic<node*> announced_{nullptr};
  atomic<node*> current_{new node};
};

template <fault planted>
void one_reads_and_one_replaces() {
  cell<planted> shared;
  jthread reader("reader", [&] { model::require(shared.read() == 42, "a node is read whole"); });
  jthread writer("writer", [&] { shared.replace(); });
}

TEST(planted_hazard_pointer, protects_an_object_that_is_read) {
  model::expect_holds(one_reads_and_one_replaces<fault::none>);
}

TEST(planted_hazard_pointer, announced_without_seq_cst_does_not_protect_the_object) {
  model::expect_fails("data race: writer gives", {},
                      one_reads_and_one_replaces<fault::announced_release>);
}

TEST(planted_hazard_pointer, without_a_second_check_does_not_protect_the_object) {
  model::expect_fails("data race: writer gives", {},
                      one_reads_and_one_replaces<fault::no_second_look>);
}

}  // namespace hazard_pointer

}  // namespace
}  // namespace troupe
