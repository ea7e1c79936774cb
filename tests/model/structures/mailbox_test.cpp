// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <troupe/detail/mailbox/mailbox.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <utility>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct note : envelope {
  plain<int> sender{-1};
  plain<int> number{0};
};

// The part of an actor that concerns its mailbox. Only its reader touches its state.
struct reader {
  whole_mailbox box;
  plain<int> turns{0};
  std::array<plain<int>, 2> last{plain<int>{0}, plain<int>{0}};
  plain<int> handled{0};

  void handle(envelope& message) {
    auto& one = static_cast<note&>(message);
    const int sender = one.sender;
    require(one.number == last[static_cast<std::size_t>(sender)] + 1,
            "each sender's order is kept");
    last[static_cast<std::size_t>(sender)] = one.number;
    handled = handled + 1;
  }

  void turn() {
    turns = turns + 1;
    do {
      while (envelope* const message = box.pop()) handle(*message);
    } while (!box.rest());
  }

  void send(note& one, int sender, int number) {
    one.sender = sender;
    one.number = number;
    if (varies(box.push(one) == mailbox::pushed::to_idle, "it is idle")) turn();
  }
};

TEST(mailbox, each_message_is_read_once_in_its_senders_order) {
  expect_holds([] {
    reader actor;
    std::array<note, 3> notes;
    actor.box.open_busy();
    {
      jthread other([&] {
        actor.send(notes[0], 0, 1);
        actor.send(notes[1], 0, 2);
      });
      actor.send(notes[2], 1, 1);
      actor.turn();
    }
    require(actor.handled == 3, "none is lost");
  });
}

TEST(mailbox, two_senders_find_it_idle_and_one_of_them_appoints_the_reader) {
  expect_holds([] {
    reader actor;
    std::array<note, 2> notes;
    actor.box.open_busy();
    require(actor.box.rest(), "nothing is there");
    {
      jthread other([&] { actor.send(notes[0], 0, 1); });
      actor.send(notes[1], 1, 1);
    }
    require(actor.handled == 2, "none is lost");
  });
}

TEST(mailbox, a_reader_that_begins_without_a_message_is_alone_and_misses_none) {
  expect_holds([] {
    reader actor;
    std::array<note, 2> notes;
    actor.box.open_busy();
    require(actor.box.rest(), "nothing is there");
    {
      jthread other([&] {
        actor.send(notes[0], 0, 1);
        actor.send(notes[1], 0, 2);
      });
      if (varies(actor.box.try_begin_reading(), "nobody reads")) {
        actor.turns = actor.turns + 1;
        if (!varies(actor.box.rest(), "nothing was sent meanwhile")) actor.turn();
      }
    }
    require(actor.handled == 2, "none is lost");
  });
}

TEST(mailbox, a_message_that_arrives_as_the_reader_rests_is_read) {
  expect_holds([] {
    reader actor;
    std::array<note, 2> notes;
    actor.box.open_busy();
    {
      jthread other([&] {
        actor.send(notes[0], 0, 1);
        actor.send(notes[1], 0, 2);
      });
      actor.turn();
    }
    require(actor.handled == 2, "none is lost");
  });
}

TEST(mailbox, a_push_that_races_with_close_is_refused_or_returned_by_it) {
  expect_holds([] {
    reader actor;
    std::array<note, 2> notes;
    plain<int> at_its_end{0};
    int refused = 0;
    int left_over = 0;
    actor.box.open_busy();
    {
      jthread other([&] {
        int number = 0;
        for (note& each : notes) {
          each.number = ++number;
          const bool is_closed = actor.box.push(each) == mailbox::pushed::closed;
          if (!varies(is_closed, "it is closed")) continue;
          ++refused;
          require(at_its_end == 1, "who finds it closed comes after its end");
        }
      });
      at_its_end = 1;
      for (envelope* left = actor.box.close().messages; left != nullptr; left = left->next) {
        ++left_over;
        require(static_cast<note&>(*left).number == left_over, "what is left over is in order");
      }
    }
    require(refused + left_over == 2, "none is lost");
  });
}

TEST(mailbox, an_observer_of_a_closed_mailbox_sees_writes_before_close) {
  expect_holds([] {
    reader actor;
    plain<int> at_its_end{0};
    actor.box.open_busy();
    jthread other([&] {
      if (varies(actor.box.is_closed(), "it is closed"))
        require(at_its_end == 1, "what came before its end is seen");
    });
    at_its_end = 1;
    (void)actor.box.close();
  });
}

TEST(mailbox, collected_messages_precede_later_ones) {
  expect_holds([] {
    reader actor;
    std::array<note, 3> notes;
    actor.box.open_busy();
    {
      jthread other([&] {
        for (std::size_t i = 0; i < notes.size(); ++i) {
          actor.send(notes[i], 0, static_cast<int>(i) + 1);
        }
      });
      (void)actor.box.refill(0);
      actor.turn();
    }
    require(actor.handled == 3, "none is lost");
  });
}

// ── Limits ────────────────────────────────────────────────────────────────────────────────────

TEST(mailbox, concurrent_senders_respect_the_limit) {
  expect_holds([] {
    reader actor;
    std::array<note, 3> notes;
    actor.box.open_busy();
    int taken = 0;
    {
      int by_other = 0;
      {
        jthread other([&] {
          for (std::size_t i = 0; i < 2; ++i) {
            if (actor.box.push(notes[i], 1, 2) == mailbox::pushed::to_busy) ++by_other;
          }
        });
        const bool is_taken = actor.box.push(notes[2], 1, 2) == mailbox::pushed::to_busy;
        if (varies(is_taken, "there is room")) ++taken;
      }
      taken += by_other;
    }
    require(taken == 2, "no more than there is room for, and no less");
    require(actor.box.units() == 2, "all of it is counted");
  });
}

TEST(mailbox, a_sender_finds_room_only_after_it_was_made) {
  expect_holds([] {
    reader actor;
    std::array<note, 2> notes;
    plain<int> handled{0};
    actor.box.open_busy();
    require(actor.box.push(notes[0], 1, 1) == mailbox::pushed::to_busy, "there is room for one");
    {
      jthread other([&] {
        varies(actor.box.push(notes[1], 1, 1) == mailbox::pushed::to_busy, "there is room");
      });
      require(actor.box.refill(0).messages == 1, "it is there");
      handled = handled + static_cast<int>(&actor.box.pop_ready() == &notes[0]);
      if (actor.box.handled(1, 1)) (void)actor.box.make_room(0);
    }
    require(handled == 1, "the first one was read");
    require(actor.box.units() <= 1, "it was counted off before there was room for the second");
  });
}

// A sender to a full mailbox waits as in pauses.cpp: it joins the list before it leaves its mark,
// both under one mutex, and a thread that finds the mark checks the list. If the sender is not
// notified, the test hangs.
struct bounded_reader {
  whole_mailbox box;
  mutex guard;
  parker* waits = nullptr;
  plain<int> handled{0};

  static constexpr std::uint32_t low = 1;
  static constexpr std::uint32_t quantum = 2;

  void tell() {
    parker* who = nullptr;
    {
      const std::lock_guard lock(guard);
      who = std::exchange(waits, nullptr);
    }
    if (who != nullptr) who->notify();
  }

  [[nodiscard]] bool refill() {
    const mailbox::refilled got = box.refill(low);
    if (got.room) tell();
    return box.has_ready();
  }

  void turn() {
    do {
      while (box.has_ready() || refill()) {
        (void)box.pop_ready();
        handled = handled + 1;
        if (box.handled(1, quantum) && box.make_room(low)) tell();
      }
    } while (!box.rest());
  }

  void wait() {
    parker mine;
    {
      const std::lock_guard lock(guard);
      if (!varies(box.want_room(low), "there is no room")) return;
      waits = &mine;
    }
    mine.park();
  }
};

TEST(mailbox, a_sender_waiting_for_space_is_notified) {
  expect_holds([] {
    bounded_reader actor;
    std::array<note, 3> notes;
    actor.box.open_busy();
    {
      jthread sender([&] {
        for (note& each : notes) {
          if (actor.box.push(each, 1, 9) == mailbox::pushed::to_idle) actor.turn();
        }
        actor.wait();
      });
      actor.turn();
    }
    require(actor.handled == 3, "none is lost");
  });
}

TEST(mailbox, a_sender_waiting_for_space_is_notified_when_the_mailbox_closes) {
  expect_holds([] {
    bounded_reader actor;
    std::array<note, 2> notes;
    actor.box.open_busy();
    jthread sender([&] {
      for (note& each : notes) (void)actor.box.push(each, 1, 9);
      actor.wait();
    });
    if (varies(actor.box.close().room_wanted, "somebody waits")) actor.tell();
  });
}

// A message that waits for space, as in async_send.cpp: under one mutex it enters either the
// mailbox or the end of the line. If there is a line, either the mailbox is marked, or its reader
// is about to admit as many messages as fit. A message that is forgotten stays in the line.
struct reader_with_line {
  whole_mailbox box;
  mutex guard;
  std::array<note*, 3> line{};
  std::size_t first = 0;
  std::size_t last = 0;
  plain<int> handled{0};

  static constexpr std::uint32_t soft = 1;
  static constexpr std::uint32_t low = 0;
  static constexpr std::uint32_t quantum = 1;

  bool let_next_in() {
    const std::lock_guard lock(guard);
    if (first == last) return false;
    const mailbox::pushed how = box.push(*line[first], 1, soft);
    require(how != mailbox::pushed::to_idle, "its reader is here");
    if (how == mailbox::pushed::full) {
      // Only the reader makes room, and it is here.
      require(box.want_room(low), "it is still full");
      model::seen("the line must wait");
      return false;
    }
    ++first;
    return true;
  }
  void let_line_in() {
    while (let_next_in()) {
    }
  }

  [[nodiscard]] bool refill() {
    const mailbox::refilled got = box.refill(low);
    if (got.room) let_line_in();
    return box.has_ready();
  }

  void turn() {
    do {
      while (box.has_ready() || refill()) {
        (void)box.pop_ready();
        handled = handled + 1;
        if (box.handled(1, quantum) && box.make_room(low)) let_line_in();
      }
    } while (!box.rest());
  }

  void async_send(note& one) {
    mailbox::pushed how = mailbox::pushed::full;
    {
      const std::lock_guard lock(guard);
      while (first == last) {
        how = box.push(one, 1, soft);
        if (how != mailbox::pushed::full || varies(box.want_room(low), "it is still full")) break;
      }
      if (varies(how == mailbox::pushed::full, "it must wait")) line[last++] = &one;
    }
    if (how == mailbox::pushed::to_idle) turn();
  }
};

TEST(mailbox, a_queued_sender_is_admitted) {
  expect_holds({.sees = {"the line must wait"}}, [] {
    reader_with_line actor;
    std::array<note, 3> notes;
    actor.box.open_busy();
    {
      jthread sender([&] {
        for (note& each : notes) actor.async_send(each);
      });
      actor.turn();
    }
    require(actor.handled == 3 && actor.first == actor.last, "nobody is forgotten");
  });
}

TEST(mailbox, a_queued_sender_is_admitted_beside_other_senders) {
  expect_holds({.random = 20'000}, [] {
    reader_with_line actor;
    std::array<note, 2> notes;
    actor.box.open_busy();
    {
      jthread sender([&] { actor.async_send(notes[0]); });
      jthread other([&] {
        if (actor.box.push(notes[1], 1, 9) == mailbox::pushed::to_idle) actor.turn();
      });
      actor.turn();
    }
    require(actor.handled == 2 && actor.first == actor.last, "nobody is forgotten");
  });
}

}  // namespace
}  // namespace troupe::detail
