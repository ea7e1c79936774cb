// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/actor/slot_head.hpp>

#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <cstdint>
#include <troupe/detail/mailbox/mailbox.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/parker.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

// A slot with the state that its actor keeps in it, as far as references are concerned.
struct slot {
  lifeline line;
  parker last_reference;  // passed on to the turn: there is at most one
  plain<int> incarnation{0};
  plain<bool> is_there{false};

  void open(int which) {
    incarnation = which;
    is_there = true;
    line.open();
  }

  void let_go_of_one() {
    if (line.try_let_go()) return;
    if (!line.now_after_others().ended()) return static_cast<void>(last_reference.notify());
    let_go();
  }

  void let_go() {
    if (line.let_go()) free();
  }

  // The turns of the actor, until it has terminated. From then on no other thread may touch the
  // object.
  void turns() {
    do {
      last_reference.park();
      (void)line.let_go();
    } while (!line.try_begin_end());
    is_there = false;
    line.end();
    let_go();
  }

  void free() {
    incarnation = 0;
    (void)line.free();
  }
};

TEST(lifeline, the_actor_ends_after_all_that_was_done_through_references) {
  expect_holds([] {
    slot actor;
    actor.open(1);
    actor.line.hold();
    plain<int> by_other{0};
    {
      jthread turn([&] {
        actor.turns();
        require(by_other == 1, "it comes before the end");
      });
      jthread other([&] {
        by_other = 1;
        actor.let_go_of_one();
      });
      actor.let_go_of_one();
    }
    require(!actor.is_there, "it has ended");
    require(actor.line.now().generation() == 1, "its slot is free for the next");
  });
}

TEST(lifeline, work_of_other_threads_is_seen_at_the_end) {
  expect_holds([] {
    slot actor;
    actor.open(1);
    actor.line.hold();
    plain<int> here{0};
    plain<int> there{0};
    const auto last_words = [&] { return here + there; };
    const auto drop = [&](plain<int>& mine) {
      mine = 1;
      if (varies(actor.line.try_let_go(), "it is not the last one")) return;
      (void)actor.line.now_after_others();
      require(last_words() == 2, "both are seen by the one who ends it");
      (void)actor.line.let_go();
    };
    jthread other([&] { drop(there); });
    drop(here);
  });
}

TEST(lifeline, an_address_leads_to_its_own_incarnation_or_nowhere) {
  expect_holds([] {
    slot actor;
    actor.open(1);
    const std::uint32_t generation = actor.line.now().generation();
    {
      jthread turn([&] { actor.turns(); });
      jthread holder([&] {
        if (!varies(actor.line.try_hold(generation), "it lives")) return;
        require(actor.incarnation == 1, "it is the one that the address named");
        actor.let_go_of_one();
      });
      actor.let_go_of_one();
    }
    require(!actor.is_there, "it has ended");
  });
}

TEST(lifeline, an_old_address_does_not_lead_to_the_next_in_the_slot) {
  expect_holds([] {
    slot actor;
    actor.open(1);
    const std::uint32_t generation = actor.line.now().generation();
    {
      jthread turns([&] {
        actor.turns();
        require(actor.line.now().generation() != generation, "no reference is left: it is free");
        actor.open(2);
        actor.let_go_of_one();
        actor.turns();
      });
      jthread holder([&] {
        if (!varies(actor.line.try_hold(generation), "it lives")) return;
        require(actor.incarnation == 1, "it is the one that the address named");
        actor.let_go_of_one();
      });
      actor.let_go_of_one();
    }
    require(!actor.is_there, "all have ended");
  });
}

// The actor ends while others may hold it, so that one of them may free the slot.
TEST(lifeline, an_old_address_does_not_lead_to_the_next_of_one_that_was_stopped) {
  expect_holds([] {
    slot actor;
    actor.open(1);
    const std::uint32_t generation = actor.line.now().generation();
    bool is_held = false;
    {
      jthread holder([&] {
        if (!varies(actor.line.try_hold(generation), "it lives")) return;
        require(actor.incarnation == 1, "it is the one that the address named");
        actor.let_go_of_one();
      });
      actor.line.begin_end();
      actor.is_there = false;
      actor.line.end();
      actor.let_go();  // held by the turn
      actor.let_go();  // held by the spawner
      is_held = actor.line.now_after_others().generation() == generation;
      if (!varies(is_held, "the holder frees it later")) {
        actor.open(2);
        actor.let_go_of_one();
        actor.turns();
      }
    }
    require(!actor.is_there, "all have ended");
    require(actor.line.now().generation() == (is_held ? 1u : 2u), "its slot is free for the next");
  });
}

TEST(lifeline, a_failed_hold_sees_the_complete_termination) {
  expect_holds([] {
    slot actor;
    actor.open(1);
    const std::uint32_t generation = actor.line.now().generation();
    plain<int> last_words{0};
    {
      jthread watcher([&] {
        if (varies(actor.line.try_hold_to_the_end(generation), "it has not ended")) {
          actor.let_go();
        } else {
          require(last_words == 1, "who finds no actor comes after all that it did");
        }
      });
      (void)actor.line.begin_end();
      last_words = 1;
      actor.line.end();
      actor.let_go();  // held by the turn
      actor.let_go();  // held by the spawner
    }
  });
}

TEST(lifeline, a_failed_hold_sees_all_of_a_termination_without_other_holders) {
  expect_holds([] {
    slot actor;
    actor.open(1);
    const std::uint32_t generation = actor.line.now().generation();
    plain<int> last_words{0};
    plain<int> watchers{0};
    {
      jthread watcher([&] {
        if (varies(actor.line.try_hold_to_the_end(generation), "it has not ended")) {
          require(actor.incarnation == 1, "who holds it keeps it");
          watchers = watchers + 1;
          actor.let_go_of_one();
        } else {
          require(last_words == 1, "who finds no actor comes after all that it did");
        }
      });
      actor.line.begin_end();
      (void)actor.line.let_go();  // held by the spawner
      last_words = 1;
      if (varies(actor.line.try_end_alone(), "it ends alone")) {
        watchers = watchers + 1;
        actor.free();
      } else {
        actor.line.end();
        actor.let_go();
      }
    }
    require(actor.line.now().generation() == 1, "its slot is free for the next");
  });
}

// Its last turn finds a message, and holds the slot again until it is discarded. Meanwhile a thread
// that stops all actors visits it.
TEST(lifeline, a_visitor_after_termination_without_holders_finds_a_closed_mailbox) {
  expect_holds([] {
    slot actor;
    whole_mailbox box;
    envelope left;
    envelope late;
    plain<bool> is_taken{false};
    bool is_found = false;
    actor.open(1);
    box.open_busy();
    require(box.push(left) == mailbox::pushed::to_busy, "it is open");
    {
      jthread passer_by([&] {
        const std::uint32_t which = actor.line.now_after_others().generation();
        if (!varies(actor.line.try_hold_in_use(which), "it is in use")) return;
        is_taken = box.push(late) == mailbox::pushed::to_busy;
        actor.let_go_of_one();
      });
      actor.line.begin_end();
      (void)actor.line.let_go();  // the spawner's
      const bool alone = varies(actor.line.try_end_alone(), "it ends alone");
      if (!alone) actor.line.end();
      const mailbox::remains remains = alone ? box.close_alone() : box.close();
      if (alone) actor.line.hold_again();
      for (const envelope* each = remains.messages; each != nullptr; each = each->next) {
        is_found = is_found || each == &late;
      }
      actor.let_go();
    }
    require(is_taken == is_found, "what was taken is found");
    varies(is_taken, "the message is taken");
    require(actor.line.now().generation() == 1, "its slot is free for the next");
  });
}

// An actor without a destructor of its own.
TEST(lifeline, one_that_ends_at_once_ends_after_all_and_before_the_next_in_its_slot) {
  expect_holds([] {
    slot actor;
    actor.open(1);
    const std::uint32_t generation = actor.line.now().generation();
    plain<int> last_words{0};
    plain<int> by_other{0};
    {
      jthread turn([&] {
        do {
          actor.last_reference.park();
          (void)actor.line.let_go();
          last_words = last_words + 1;
        } while (!varies(actor.line.try_end_at_once(), "it ends at once"));
        by_other = by_other + 1;
        actor.free();
      });
      jthread other([&] {
        if (varies(actor.line.try_hold_to_the_end(generation), "it has not ended")) {
          require(actor.incarnation == 1, "who holds it keeps it");
          by_other = by_other + 1;
          actor.let_go_of_one();
        } else {
          require(last_words >= 1, "who finds no actor comes after all that it did");
        }
      });
      actor.let_go_of_one();
    }
    require(actor.line.now().generation() == 1, "its slot is free for the next");
  });
}

// A system that shuts down visits all slots, without synchronization with the thread that opens
// them.
TEST(lifeline, a_visitor_finds_a_completely_constructed_actor) {
  expect_holds([] {
    slot actor;
    jthread passer_by([&] {
      const std::uint32_t which = actor.line.now_after_others().generation();
      if (!varies(actor.line.try_hold_in_use(which), "it is in use")) return;
      require(actor.incarnation == 1, "it is complete");
      actor.let_go_of_one();
    });
    actor.open(1);
  });
}

TEST(lifeline, a_slot_is_freed_after_all_that_was_done_in_it) {
  expect_holds([] {
    slot actor;
    actor.open(1);
    actor.line.begin_end();
    actor.line.end();
    {
      jthread last_turn([&] {
        require(actor.incarnation == 1, "the turn is in it till it lets go");
        actor.let_go();
      });
      jthread passer_by([&] {
        const std::uint32_t which = actor.line.now_after_others().generation();
        if (!varies(actor.line.try_hold_in_use(which), "it is in use")) return;
        require(actor.incarnation == 1, "who holds it keeps it");
        actor.let_go_of_one();
      });
      actor.let_go_of_one();
    }
    require(actor.line.now().generation() == 1, "its slot is free for the next");
  });
}

// [end-side]: a thread that arms a timer creates the side block and then checks whether the actor
// has terminated. The last turn sets that state and then checks for a side block.
TEST(lifeline, a_timer_armed_at_the_end_is_seen_by_one_of_the_two) {
  expect_holds([] {
    lifeline line;
    line.open();
    atomic<int> side{0};
    bool seen_by_end = false;
    bool seen_by_timer = false;
    {
      jthread last_turn([&] {
        line.end();
        seen_by_end = side.load(seq_cst) != 0;
      });
      int none = 0;
      side.compare_exchange_strong(none, 1, seq_cst, seq_cst);
      seen_by_timer = line.now_in_order().ended();
    }
    require(seen_by_end || seen_by_timer, "the timer does not outlive the actor");
    varies(seen_by_end, "the end sees the timer");
    varies(seen_by_timer, "the timer sees the end");
  });
}

// ── By address, without a reference ───────────────────────────────────────────────────────────

// A slot with its mailbox. Each of its actors gets one message, which ends it.
struct slot_with_mailbox {
  slot_head head;
  mailbox_list list;
  plain<std::uint32_t> who{0};
  plain<int> answers{0};
  int answered = 0;

  mailbox box() { return {head.pushed, list}; }
  void open(std::uint32_t generation) {
    who = generation;
    box().open_busy();
    head.life.open();
  }
  void rest_or_read(envelope& answer) {
    if (!box().rest()) turn(answer);
  }
  // Any message other than the reply is the end.
  void turn(envelope& answer) {
    do {
      while (envelope* const message = box().pop()) {
        if (message != &answer) return end();
        require(who == 0, "the answer is for the first one");
        answers = answers + 1;
      }
    } while (!box().rest());
  }
  void end() {
    head.life.begin_end();
    (void)head.life.let_go();  // held by the spawner
    require(head.life.try_end_alone(), "nobody holds it");
    for (const envelope* each = box().close_alone().messages; each != nullptr; each = each->next) {
      require(false, "nobody sends to it who does not hold it");
    }
    (void)head.life.free();
  }
  void bring(envelope& answer) {
    switch (head.try_begin_reading(0)) {
      case slot_head::reader::of_it:
        model::seen("it reads");
        ++answered;
        box().begin_with(answer);
        return turn(answer);
      case slot_head::reader::of_another:
        model::seen("another one reads");
        require(who != 0, "it is another one");
        return rest_or_read(answer);
      case slot_head::reader::nobody:
        model::seen("nobody reads");
        return;
    }
  }
};

TEST(lifeline, a_reply_by_address_reaches_the_requester_or_no_actor) {
  expect_holds({.sees = {"it reads", "another one reads", "nobody reads"}}, [] {
    slot_with_mailbox slot;
    envelope answer;
    std::array<envelope, 2> ends;
    slot.open(0);
    require(slot.box().rest(), "it is idle");
    {
      jthread who_answers([&] { slot.bring(answer); });
      for (std::uint32_t i = 0; i < 2; ++i) {
        if (slot.box().push(ends[i]) == mailbox::pushed::to_idle) slot.turn(answer);
        // If the other thread is the reader, it ends the actor, sooner or later.
        if (slot.head.life.now_after_others().generation() != i + 1) break;
        if (i == 1) break;
        slot.open(1);
        slot.rest_or_read(answer);
      }
    }
    require(slot.answers == slot.answered, "what was taken was handled");
  });
}

// ── The search for cycles ─────────────────────────────────────────────────────────────────────

// An idle actor that holds itself. It is ended in a turn that the search has begun.
struct idle_slot : slot {
  explicit idle_slot() { open(1); }
  void last_turn() {
    is_there = false;
    let_go_of_one();  // held by its object
    line.end();
    let_go();
  }
};

TEST(lifeline, a_lock_during_a_cycle_search_gets_the_actor_or_finds_it_terminated) {
  expect_holds([] {
    idle_slot actor;
    {
      jthread other([&] {
        if (!varies(actor.line.try_hold_when_decided(0), "it has not ended")) return;
        require(actor.is_there, "it has not ended");
        actor.let_go_of_one();
      });
      if (varies(actor.line.try_mark(1), "nobody holds it")) {
        actor.line.end_marked();
        actor.last_turn();
      }
    }
    if (actor.line.now().generation() != 0) return;
    require(actor.line.try_mark(1), "nobody has held it but itself");
    actor.line.end_marked();
    actor.last_turn();
  });
}

// Two actors that hold each other, and a thread that visits one of them.
void end_both_or_none(bool visits_first) {
  idle_slot one;
  idle_slot other;
  const auto search = [&] {
    const bool first = one.line.try_mark(1);
    const bool second = varies(first && other.line.try_mark(1), "both are marked");
    if (first && !second) one.line.unmark();
    if (!second) return;
    one.line.end_marked();
    other.line.end_marked();
    one.last_turn();
    other.last_turn();
  };
  {
    jthread visitor([&] {
      idle_slot& visited = visits_first ? one : other;
      if (!varies(visited.line.try_hold_when_decided(0), "it has not ended")) return;
      require(one.is_there && other.is_there, "neither it nor the one that it holds has ended");
      visited.let_go_of_one();
    });
    search();
  }
  if (one.line.now().generation() == 0) search();
  require(one.line.now().generation() == 1 && other.line.now().generation() == 1, "both end");
}

TEST(lifeline, a_cycle_of_two_is_collected_or_kept_whole_if_the_first_is_locked) {
  expect_holds([] { end_both_or_none(true); });
}

TEST(lifeline, a_cycle_of_two_is_collected_or_kept_whole_if_the_second_is_locked) {
  expect_holds([] { end_both_or_none(false); });
}

TEST(lifeline, a_message_sent_by_a_visitor_is_seen_when_the_actor_is_marked) {
  expect_holds([] {
    idle_slot actor;
    whole_mailbox box;
    envelope sent;
    plain<bool> is_sent{false};
    box.open_busy();
    require(box.rest(), "it is idle");
    {
      jthread visitor([&] {
        if (!varies(actor.line.try_hold_when_decided(0), "it has not ended")) return;
        is_sent = true;
        require(box.push(sent) != mailbox::pushed::closed, "who holds it reaches it");
        actor.let_go_of_one();
      });
      if (varies(box.try_begin_reading(), "nothing was sent yet")) {
        const bool is_marked = varies(actor.line.try_mark(1), "nobody holds it");
        if (is_marked && varies(box.is_empty(), "nothing is there")) {
          actor.line.end_marked();
          actor.last_turn();
          require(box.close().messages == nullptr, "nothing was sent to it");
        } else {
          if (is_marked) actor.line.unmark();
          if (!varies(box.rest(), "nothing was sent meanwhile")) {
            require(box.pop() == &sent, "its message waits");
          }
        }
      }
    }
    if (actor.line.now().generation() == 0) {
      actor.line.begin_end();
      actor.last_turn();
    }
  });
}

TEST(lifeline, the_cycle_search_sees_work_done_through_released_references) {
  expect_holds([] {
    idle_slot actor;
    actor.line.hold();
    plain<int> by_other{0};
    {
      jthread other([&] {
        by_other = 1;
        actor.let_go_of_one();
      });
      if (varies(actor.line.try_mark(1), "nobody holds it")) {
        require(by_other == 1, "it comes before the end");
        actor.line.end_marked();
        actor.last_turn();
      }
    }
    if (actor.line.now().generation() != 0) return;
    require(actor.line.try_mark(1), "nobody has held it but itself");
    actor.line.end_marked();
    actor.last_turn();
  });
}

// A system that shuts down visits all slots, whatever is being decided.
TEST(lifeline, a_visitor_during_a_cycle_search_does_not_disturb_it) {
  expect_holds([] {
    idle_slot actor;
    {
      jthread passer_by([&] {
        const std::uint32_t which = actor.line.now_after_others().generation();
        if (!varies(actor.line.try_hold_in_use(which), "it is in use")) return;
        require(actor.incarnation == 1, "who holds it keeps it");
        if (!varies(actor.line.try_let_go(), "it is not the last one")) actor.let_go();
      });
      if (varies(actor.line.try_mark(1), "nobody holds it")) {
        actor.line.end_marked();
        actor.last_turn();
      }
    }
    if (actor.line.now().generation() != 0) return;
    actor.line.begin_end();
    actor.last_turn();
  });
}

}  // namespace
}  // namespace troupe::detail
