// SPDX-License-Identifier: Apache-2.0
//
// Checks the mailboxes of the lab, so that its measurements are of correct code.
#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

#include "lab/mailboxes/arena.hpp"
#include "lab/mailboxes/segments.hpp"
#include "lab/mailboxes/two_stacks.hpp"
#include "lab/mailboxes/vyukov.hpp"

namespace troupe::lab {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

// Plain memory that moves without throwing.
struct note {
  explicit note(int n) : number(n) {}
  note(note&& from) noexcept : number(static_cast<int>(from.number)) {}
  note& operator=(note&&) = delete;
  ~note() = default;
  plain<int> number;
};

// Segments of two and three records, from operator new: each block is watched.
struct few_units {
  static constexpr std::uint32_t units(bool large) noexcept { return large ? 4 : 3; }
  static segment* take(bool large) {
    void* const block =
        ::operator new(segment::header_bytes + 4 * sizeof(unit), std::align_val_t{64});
    auto* const one = static_cast<segment*>(block);
    one->next = nullptr;
    one->units = units(large);
    clear_marks(one->at(0), units(large));
    return one;
  }
  static void give(segment* one, std::uint64_t) noexcept {
    for (std::uint32_t i = 0; i < one->units; ++i) std::destroy_at(one->at(i));
    ::operator delete(one, std::align_val_t{64});
  }
};

template <class Box>
class lab_mailbox : public testing::Test {};

struct name_of_box {
  template <class Box>
  static std::string GetName(int index) {
    constexpr std::array names{"two_stacks", "vyukov", "segments", "arena"};
    return names[static_cast<std::size_t>(index)];
  }
};
using boxes = testing::Types<two_stacks<note>, vyukov<note>, segments<note, few_units>,
                             arena<note, 4 * sizeof(unit)>>;
TYPED_TEST_SUITE(lab_mailbox, boxes, name_of_box);

// The messages of each sender are handled in order, by one reader at a time.
template <class Box>
struct reader {
  explicit reader(std::size_t limit = no_limit) : box(limit) {}

  void turn() {
    turns = turns + 1;
    for (;;) {
      while (box.drain([&](note&& one) {
        require(one.number == last + 1, "in order");
        last = one.number;
      }) != 0) {
      }
      // No pause before it: a push of one step would always come first, and never find it idle.
      if (box.rest()) return;
      cpu_relax();
    }
  }
  void send(int number) {
    for (note one(number);;) {
      const pushed result = box.push(std::move(one));
      if (varies(result == pushed::to_idle, "it is idle")) turn();
      if (is_taken(result)) return;
      model::seen("it is full");
      cpu_relax();
    }
  }

  Box box;
  plain<int> turns{0};
  plain<int> last{0};
};

TYPED_TEST(lab_mailbox, messages_are_read_in_order_by_one_reader_at_a_time) {
  expect_holds([] {
    reader<TypeParam> actor;
    {
      jthread other([&] {
        for (int i = 1; i <= 3; ++i) actor.send(i);
      });
      actor.turn();
    }
    require(actor.last == 3, "none is lost");
  });
}

TYPED_TEST(lab_mailbox, two_that_find_it_idle_appoint_one_reader) {
  expect_holds([] {
    TypeParam box;
    require(box.rest(), "nothing is there");
    plain<int> read{0};
    const auto send = [&](int number) {
      if (!varies(box.push(note(number)) == pushed::to_idle, "it is idle")) return;
      do {
        box.drain([&](note&& one) { read = read + one.number; });
        cpu_relax();
      } while (!box.rest());
    };
    {
      jthread other([&] { send(1); });
      send(2);
    }
    require(read == 3, "none is lost, none comes twice");
  });
}

TEST(lab_two_stacks, never_holds_more_than_its_limit) {
  expect_holds({.sees = {"it is full"}}, [] {
    reader<two_stacks<note>> actor(1);
    {
      jthread other([&] {
        for (int i = 1; i <= 2; ++i) actor.send(i);
      });
      actor.turn();
    }
    require(actor.last == 2, "none is lost");
  });
}

TYPED_TEST(lab_mailbox, a_push_that_races_with_close_is_refused_or_returned_by_it) {
  if constexpr (closes<TypeParam>) {
    expect_holds([] {
      TypeParam box;
      int taken = 0;
      int left = 0;
      {
        jthread other([&] {
          for (int i = 1; i <= 2; ++i) taken += is_taken(box.push(note(i))) ? 1 : 0;
        });
        box.close([&](note&& one) { require(one.number == ++left, "in order"); });
      }
      require(taken == left, "none is lost");
      varies(taken == 0, "none is taken");
      varies(taken == 2, "all are taken");
    });
  } else {
    GTEST_SKIP() << "does not close";
  }
}

}  // namespace
}  // namespace troupe::lab
