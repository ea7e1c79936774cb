// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <cstddef>
#include <troupe/mailbox/mailbox.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;

struct note : envelope {
  plain<int> sender{-1};
  plain<int> number{0};
};

// An actor as far as its mailbox is concerned: what it keeps is touched by its reader alone.
struct reader {
  mailbox box;
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
    if (box.push(one) == mailbox::pushed::to_idle) turn();
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

TEST(mailbox, a_message_that_comes_as_the_reader_rests_is_read) {
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

TEST(mailbox, a_push_that_races_with_close_is_refused_or_left_over) {
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
          if (actor.box.push(each) != mailbox::pushed::closed) continue;
          ++refused;
          require(at_its_end == 1, "who finds it closed comes after its end");
        }
      });
      at_its_end = 1;
      for (envelope* left = actor.box.close(); left != nullptr; left = left->next) {
        ++left_over;
        require(static_cast<note&>(*left).number == left_over, "what is left over is in order");
      }
    }
    require(refused + left_over == 2, "none is lost");
  });
}

TEST(mailbox, what_was_collected_comes_before_what_came_later) {
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
      actor.box.collect();
      actor.turn();
    }
    require(actor.handled == 3, "none is lost");
  });
}

}  // namespace
}  // namespace troupe::detail
