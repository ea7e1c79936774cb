# SPDX-License-Identifier: Apache-2.0
"""The mutations of `make mutants`: see README.md beside this file.

mutant(name, pattern, what it breaks, original, mutated[, reason])

The original text occurs exactly once in its file; any white space matches one space. « and »
enclose the replaced part, if it is not the whole text. A text that ends with ; or } is one or
more statements, any other is an expression. A mutation that no test can see has a reason.

Patterns:
  crossed   two features meet
  after     the state after an event
  refusal   resources taken before a refusal or an error are returned
  negative  the result is negative although the positive one is due
  third     a third party uses freed resources, or an earlier publication
  plain     none of these
"""

MUTANTS = []
_file = ""


def in_file(path):
    global _file
    _file = path


def mutant(name, pattern, breaks, original, mutated, reason=""):
    MUTANTS.append({"name": name, "file": _file, "pattern": pattern, "breaks": breaks,
                    "original": original, "mutated": mutated, "reason": reason})


# ── Limits, budgets, backpressure ───────────────────────────────────────────────────────────────

in_file("src/actor/overload.cpp")
mutant("send_budget_refuses_keeps_place", "crossed", "a message that a budget refuses keeps its type's place",
       "!own->budget->charge(bytes)) { «if (how.most != 0) give_place_back(how);» return refuse_or_drop", "")
mutant("send_full_keeps_place", "refusal", "a message that a full mailbox refuses keeps its type's place",
       "} else { «if (how.most != 0) give_place_back(how);» if (own != nullptr && own->budget != nullptr) "
       "own->budget->release(bytes); result =", "")
mutant("send_full_keeps_budget", "refusal", "a message that a full mailbox refuses stays charged to its budget",
       "«if (own != nullptr && own->budget != nullptr) own->budget->release(bytes);» result = pushed", "")
mutant("thread_waits_keeps_place", "crossed", "a thread that waits for room has its type's place twice",
       "if (this_thread_may_wait()) { «if (how.most != 0) give_place_back(how);»", "")
mutant("thread_waits_keeps_budget", "crossed", "a thread that waits for room is charged to the budget twice",
       "«if (own != nullptr && own->budget != nullptr) own->budget->release(bytes);» const delivery became", "")
mutant("thread_waits_keeps_reference", "after", "after a thread has waited for room the actor is never unreachable",
       "const delivery became = wait_in_line(message); «to_.let_go();» return became;", "")
mutant("type_limit_off_by_one", "plain", "one more message of a limited type is taken than at_most says",
       "«now >= how.most») return false;", "now > how.most")
mutant("budget_limit_off_by_one", "plain", "a budget refuses the message that would fill it exactly",
       "bytes > limit_ || «used > limit_ - bytes») return false;", "used >= limit_ - bytes")
mutant("dropped_keeps_its_share", "crossed", "a dropped message stays charged to its budget and its type's limit",
       "«no_longer_waits(how, bytes);» control_block::count_gone(*to_.home_, 1, bytes); to_.tell_overload", "")
mutant("ring_keeps_its_share", "crossed", "with drop_oldest a handled message stays charged to its budget",
       "«no_longer_waits(*message.how, bytes);» control_block::count_gone(*to_.home_, 0, bytes);", "")
mutant("redirects_again", "plain", "a message is redirected more than once",
       "onwards->how->charge(*onwards), «false»);", "true")
mutant("fail_receiver_does_not_wake", "plain", "fail_receiver does not wake an actor that is idle or suspended",
       "if (to_.raise(control_block::urgent::fail)) to_.wake();", "(void)to_.raise(control_block::urgent::fail);")
mutant("constructor_suspends_its_maker", "crossed", "an actor is suspended for what its child's constructor sent",
       "here.running == nullptr || «here.constructors != 0») return delivery::paused;", "false")
mutant("waiting_thread_is_not_counted", "after", "a thread that waits for room is not counted as suspended",
       "«to_.tell_overload(overload_event::kind::paused, *message.how);» taken how = taken::full;", "")
mutant("closed_keeps_overdraft", "refusal", "a message beyond the limit that finds the mailbox closed keeps the overdraft",
       "} else { «of.release(bytes);» } return pushed;", "")
mutant("closed_keeps_uncounted", "refusal", "an uncounted message that finds the mailbox closed stays counted",
       "«to_.home().pauses().end_uncounted(to_, is_locked);» free_envelope(*outer);", "")
mutant("refused_ask_hears_stopped", "plain", "a request without room hears another error than refused",
       "const no_answer_scope as(«ask_error::refused»); message.how->discard(message); } // The message is not",
       "ask_error::stopped")
mutant("can_never_be_taken", "negative", "a message that would be taken later is said to be too large",
       "return has_backpressure() && bytes <= home().overdrafts().limit();", "return false;")

in_file("src/actor/async_send.cpp")
mutant("line_budget_refuses_keeps_place", "crossed", "async_send: a budget refuses, the type's place is kept",
       "!budget->charge(bytes)) { «if (how.most != 0) give_place_back(how);» return taken::never;", "")
mutant("line_full_keeps_place", "refusal", "async_send: the mailbox is full, the type's place is kept",
       "«if (how.most != 0) give_place_back(how);» if (budget != nullptr) budget->release(bytes);", "")
mutant("line_full_keeps_budget", "crossed", "async_send: the mailbox is full, the budget stays charged",
       "«if (budget != nullptr) budget->release(bytes);» return pushed ==", "")
mutant("line_takes_closed_for_full", "negative", "async_send waits for room in a mailbox that is closed",
       "pushed == mailbox::pushed::closed ? taken::by_nobody : taken::full", "taken::full")
mutant("given_up_send_keeps_message", "after", "a handler that is destroyed in a line leaves its message alive",
       "«waits_->message->how->discard(*waits_->message);» waits_->free();", "")
mutant("given_up_send_holds_receiver", "after", "a handler that is destroyed in a line holds its receiver for good",
       "waits_->free(); «to.let_go();» me.let_go(); } } // namespace troupe", "")
mutant("given_up_send_holds_sender", "after", "a handler that is destroyed in a line holds its own actor for good",
       "waits_->free(); to.let_go(); «me.let_go();» } } // namespace troupe", "")
mutant("line_stays_counted", "after", "who has left a line is still counted as waiting",
       "one.in_line = false; «count_in(one, -1);»", "")
mutant("line_lets_one_in", "plain", "only the first of a line is let in when there is room for all",
       "while (message_in_line* const one = next_let_in(receiver, how)) decided(*one, how);",
       "if (message_in_line* const one = next_let_in(receiver, how)) decided(*one, how);")
mutant("line_refusal_is_accepted", "crossed", "who waited in a line for what was then refused hears accepted",
       "one.became = overload(receiver).not_taken(how, *one.message);",
       "overload(receiver).not_taken(how, *one.message); one.became = delivery::accepted;")
mutant("line_holds_sender", "after", "who has been let in is held for good",
       "«sender.let_go();» receiver.let_go(); } } // namespace detail", "")
mutant("line_cycle_is_not_counted", "after", "a wait cycle of an exclusive handler is not counted",
       "if (is_cycle) to.count_without_message(overload_event::kind::wait_cycle);", "")
mutant("line_not_lined_holds_sender", "after", "who found room while lining up is held for good",
       "«me.let_go();» return false; } // It was not awaited", "")
mutant("exclusive_waits_for_itself", "crossed", "an exclusive handler waits for room in its own mailbox",
       "«here.running == to_ && here.coroutine->takes_nothing»", "false")
mutant("line_names_its_last", "after", "an empty line still names the message that was its last",
       "(one.later != nullptr ? one.later->earlier : its.line_end) = one.earlier;",
       "if (one.later != nullptr) one.later->earlier = one.earlier;")
mutant("left_line_blocks_its_actor", "after", "an exclusive handler that has left a line is still said to stand in it",
       "std::exchange(one.blocks, nullptr)->side_if_any()->blocking_line = nullptr;", "one.blocks = nullptr;")

in_file("src/actor/overdraft.cpp")
mutant("uncounted_keeps_overdraft", "after", "an uncounted message is handled and stays charged to the overdraft",
       "home.overdrafts().release(outer.bytes);", "")
mutant("uncounted_keeps_budget", "crossed", "an uncounted message is handled and stays charged to its budget",
       "no_longer_waits(how, one.bytes);", "")
mutant("uncounted_resumes_nobody", "after", "the senders of uncounted messages are never resumed",
       "home.pauses().end_uncounted(of, false);", "")

in_file("src/actor/pauses.cpp")
mutant("resumed_holds_the_others", "after", "an actor that filled two mailboxes holds the second one for good",
       "first->let_go(); «for (control_block* each : others) each->let_go();» } bool pauses::pause", "")
mutant("overdraft_is_not_given_back", "after", "a mailbox that is half empty keeps its overdraft",
       "«receiver.home().overdrafts().release(overdrawn);» if (must_wait)", "")
mutant("resumed_names_its_mailbox", "after", "an actor that goes on still names the mailbox that was full",
       "control_block* const first = «std::exchange(entry.first, nullptr)»;", "entry.first")
mutant("resumed_is_searched", "after", "an actor that goes on is still said to wait for the mailbox that was full",
       "control_block* const receiver = «std::exchange(entry.waits_for, nullptr)»;", "entry.waits_for")
mutant("pause_timeout_is_a_cycle", "plain", "a suspension that timed out is counted as a wait cycle",
       "entry->because = overload_event::kind::pause_timed_out;",
       "entry->because = overload_event::kind::wait_cycle;")
mutant("suspends_one_told_to_stop", "third", "an actor that is told to stop at that moment is suspended all the same",
       "if («!sender.is_told_to_stop()») {", "true")
mutant("cycle_line_is_not_told", "after", "an exclusive handler taken out of a line for a cycle does not continue",
       "decided(*those.in_line, those.how);", "")
mutant("parked_search_sees_the_past", "after", "a search counts a cycle of which a wait has ended between two slices",
       "if («one.number == 0») return true;", "true")
mutant("ended_wait_stays_parked", "after", "a wait that has ended is still searched for a cycle",
       "«waits_of_all::here().parked.remove(entry.search);» control_block* const receiver", "")
mutant("resumed_by_search_is_not_told", "after", "a suspended actor whose cycle a slice has found does not continue",
       "if (!waits_for_another(its.pause, at.along)) «those.paused = &its.pause;»", "")
mutant("late_overdraft_is_kept", "third", "an overdraft taken when its reader is half empty already is kept",
       "if (!receiver.want_room()) released = its.overdrawn.exchange(0, relaxed);", "")
mutant("overdraft_grows_while_loaded", "after", "a mailbox that is never half empty gives nothing of its overdraft back",
       "released = std::min(before, bytes);", "released = 0;")
mutant("waiter_list_has_no_back_link", "third", "a suspended sender that leaves the middle of a list tears it",
       "«if (entry.next != nullptr) entry.next->previous = &entry;» atomic<std::uint64_t>& waiting", "")
mutant("waits_for_one_of_two", "after", "an actor that filled two mailboxes is resumed when one has room",
       "if (link(entry, *entry.others[--entry.left], along)) return true;", "entry.left = 0;")

# ── Restart and termination ─────────────────────────────────────────────────────────────────────

in_file("src/actor/incarnations.cpp")
mutant("restart_keeps_watches", "crossed", "the next object gets a `down` that the one before had asked for",
       "«unwatch_all(its);» end_listeners_of_object", "")
mutant("restart_keeps_subscriptions", "crossed", "the next object gets what the one before had subscribed to",
       "end_listeners_of_object(its.termination_notices);", "")
mutant("restart_keeps_broken_links", "crossed", "a link that broke the object before breaks the next one too",
       "forget_broken_links(its.termination_notices);", "")
mutant("restart_keeps_timers", "crossed", "the next object gets the ticks of the timers of the one before",
       "home().timers().cancel_own(*this);", "")
mutant("restart_does_not_make_room", "crossed", "a restart does not resume those that wait for room",
       "«if (inbox().make_room(rules().low)) home().pauses().release_waiters_of(*this);» if (its.once_more", "")
mutant("restart_forgets_priority", "crossed", "after a restart high messages do not come first",
       "«if (has_high) urgent_.fetch_or(high_pushed, relaxed);» // [high] the turn's", "")
mutant("restart_keeps_stop_now", "crossed", "a stop_now() of the object before ends the next one too",
       "«urgent_.fetch_and(high_pushed, relaxed);» unwatch_all", "")
mutant("restart_keeps_overload_failure", "crossed", "a fail_receiver from between two objects fails the next one",
       "«no_longer(urgent::fail);» // for overflows", "")
mutant("restart_is_not_counted", "after", "the first restart of an actor is not counted",
       "if («its.objects_begun++ != 0») home().count_restart();", "its.objects_begun++ > 1")
mutant("failed_constructor_is_final", "plain", "an actor whose next constructor throws is not restarted",
       "if («comes_back(exit_reason::failed)») return end_incarnation", "false")
mutant("forgotten_mailbox_keeps_budget", "crossed", "messages that a restart forgets stay charged to their budget",
       "«give_back_to_budget(counts.bytes);» (void)mine.count_gone(counts.messages, counts.bytes); if (home_->settles",
       "")
mutant("forgotten_mailbox_keeps_units", "crossed", "messages that a restart forgets stay counted in the mailbox",
       "«(void)inbox().handled(bounds.units(message.how->charge(message), message.how->weight), bounds.quantum);» "
       "discard_unhandled", "")
mutant("uncounted_outlive_forgetting", "crossed", "uncounted messages survive a restart that forgets the mailbox",
       "«message.how->internal && !is_ring_token(message) && !is_wrapped(message) && !is_uncounted(message)»",
       "message.how->internal && !is_ring_token(message) && !is_wrapped(message)")
mutant("kept_outlive_forgetting", "crossed", "stashed timer messages survive a restart that forgets the mailbox",
       "«message.how->internal && !is_ring_token(message) && !is_wrapped(message) && !is_uncounted(message)»",
       "message.how->internal && !is_ring_token(message) && !is_uncounted(message)")
mutant("forgotten_mailbox_resumes_nobody", "crossed", "a restart that forgets the mailbox does not resume its senders",
       "«if (is_room_wanted) home().pauses().release_waiters_of(*this);» } // ──", "")
mutant("redelivered_forever", "plain", "a message that fails its actor twice is delivered again and again",
       "if (!is_supervised() || «its->being_retried == &message») return false;", "false")
mutant("redelivery_is_remembered", "third", "a later message at the same address is not delivered again",
       "~over() { «its.being_retried = nullptr;» }", "")
mutant("redelivery_loses_trace", "crossed", "a message that is delivered again is in no trace",
       "this_turn().trace = its.retried_trace;", "")

in_file("src/actor/ending.cpp")
mutant("failing_on_stop_is_final", "crossed", "an actor that fails in on_stop is not restarted on_failure",
       "again = again || comes_back(reason);", "")
mutant("failing_callback_is_no_failure", "crossed", "a callback that throws at the end does not make it a failure",
       "if (!had_failed && !end_callbacks()) reason = exit_reason::failed;",
       "if (!had_failed) (void)end_callbacks();")
mutant("restart_says_stopped", "crossed", "who asked an actor that stops and comes back hears stopped, not failed",
       "const exit_reason told = «again ? exit_reason::failed : reason»;", "reason")
mutant("kept_reply_says_failed", "plain", "a reply that a stopping actor has kept says failed",
       "const no_answer_scope as(«reason == exit_reason::failed ? reason : told»); type_->destroy",
       "exit_reason::failed")
mutant("end_resumes_nobody", "crossed", "those that wait for room in an actor that ends are not resumed",
       "if (remains.room_wanted) home().pauses().release_waiters_of(*this);", "")
mutant("end_keeps_budget", "crossed", "what an ended actor has not handled stays charged to its budget",
       "«give_back_to_budget(counts.bytes);» expect_settled(", "")
mutant("factory_outlives_end", "third", "what makes a child's objects is destroyed with the last reference, elsewhere",
       "its->again.reset();", "")
mutant("end_keeps_uncounted", "crossed", "uncounted messages of an actor that ends stay charged to the overdraft",
       "if (is_uncounted(*message)) message = &take_out_uncounted(*this, *message);",
       "if (is_uncounted(*message)) message = static_cast<uncounted_message&>(*message).inner;")

in_file("src/actor/watching.cpp")
mutant("unwatch_leaves_what_is_in_flight", "third", "a `down` that is on its way is handled after unwatch()",
       "«if (take_back(one)) { free(one); } else { one.unwatched = true; }» return true;",
       "if (take_back(one)) free(one);")
mutant("unwatch_denies_what_is_in_flight", "negative", "unwatch() says false where it has taken a `down` back",
       "one.unwatched = true; } «return true;» } void end_watches",
       "return slot->generation.load(relaxed) != monitor_access::generation(which);")
mutant("restart_leaves_what_is_in_flight", "crossed", "a restart leaves a `down` that is in the mailbox to the next object",
       "remove_own(of, one); if (take_back(one)) { free(one); } else { «one.unwatched = true;»", "")
mutant("handled_down_stays_listed", "after", "a watch stays in its actor's list when its `down` was handled",
       "if (one.unwatched) return {}; control_block& me = *this_turn().running; "
       "«remove_own(*me.side_if_any(), one);»", "")
mutant("monitor_has_no_generation", "third", "an old monitor names the watch that has its place now",
       "slot.generation.store(slot.generation.load(relaxed) + 1, relaxed);", "")
mutant("late_watch_has_no_reason", "plain", "who watches an actor that has ended hears no reason",
       "«if (target != nullptr) why.reason = target->reason();» send_down", "")
mutant("unwatched_is_on_its_way", "after", "a `down` that was taken back is said to be on its way",
       "return «!one.unwatched && !if_listed(one, [](termination_notices&) {})»;", "!if_listed(one, [](termination_notices&) {})",
       "a handler that has taken back its watch does not ask again whether it is on its way")

in_file("src/actor/termination_notices.cpp")
mutant("told_watches_stay_listed", "after", "an ended actor still lists the watches that were told of its end",
       "watchers = «std::exchange(its.watchers, nullptr)»;", "its.watchers")
mutant("told_listeners_stay_listed", "after", "an ended actor still lists the listeners that were told of its end",
       "next = «std::exchange(its.listeners, nullptr)»;", "its.listeners")

in_file("src/actor/links.cpp")
mutant("half_a_link", "refusal", "without memory for its second end a link stays half made",
       "(void)remove(mine, other); throw;", "throw;")
mutant("unlink_takes_one_end", "plain", "after unlink() the other actor is still linked",
       "theirs = remove(of_it->termination_notices, me.where());", "")
mutant("unlinked_is_told", "third", "a link_down that is on its way is handled after unlink()",
       "if («its.find(one->who) == nullptr») return {};", "false")

in_file("src/actor/control_block.cpp")
mutant("end_object_overrides_stop", "crossed", "a child that has stopped is restarted because its group is",
       "while («told_in(now) != urgent::stop» &&", "true")
mutant("stop_now_leaves_suspended", "crossed", "stop_now() does not end a suspension",
       "deliver(*message); «home().pauses().release(*this);» let_go(); } // The caller", "")
mutant("broken_link_hides_stop", "crossed", "a stop_now() after a link broke is lost if the link was unlinked",
       "if («told != urgent::nothing && told != urgent::link_broken») return false;", "told != urgent::nothing")
mutant("stop_is_lost_over_restart", "crossed", "a stop that meets another end is not handled by the next object",
       "} else { «me.deliver(e);» }", "e.how->discard(e);")
mutant("end_of_pump_is_forgotten", "crossed", "an actor whose pump has ended is restarted",
       "static_cast<std::uint32_t>(next) | («before & (waited_for | for_good)»), release", "before & waited_for")
mutant("timed_join_misses_the_end", "negative", "a join() whose time is over says no although the actor has ended",
       "«return in_life() == phase::ended;» } } }", "return false;",
       reason="as if the time had been over a moment earlier")

in_file("src/actor/runtime_end.cpp")
mutant("shutdown_now_restarts", "crossed", "shutdown_now() lets supervised actors be restarted",
       "if (what == backlog::discarded) { «block.ends_for_good();»", "")
mutant("end_of_pump_restarts", "crossed", "a supervised actor is restarted on a pump that has ended",
       "if (&block.runs_on() != &pump) return; «block.ends_for_good();»", "")

# ── Scheduling of turns ─────────────────────────────────────────────────────────────────────────

in_file("src/actor/turn.cpp")
mutant("stash_leaves_the_limit", "crossed", "a stashed message does not count for the limit of its type",
       "if (how.most != 0) overload(*this).keep_place(how);", "")
mutant("stash_is_not_counted", "crossed", "a stashed message does not count for the mailbox",
       "«side_if_any()->kept_units += static_cast<std::uint32_t>(bounds.units(charge, how.weight));» "
       "if (how.most != 0) overload(*this).keep_place", "")
mutant("held_up_is_not_counted", "crossed", "what waits for an exclusive handler does not count for the mailbox",
       "put_aside(message); «side_if_any()->kept_units += static_cast<std::uint32_t>(units);» "
       "continue;", "")
mutant("failing_message_keeps_units", "crossed", "the message that fails an actor stays counted after the restart",
       "«(void)inbox().handled(bounds.units(charge, how.weight), bounds.quantum);» return end(exit_reason::failed, mine); "
       "} // Called after", "")
mutant("ending_sender_holds_the_others", "crossed", "an actor that ends after it filled two mailboxes holds one",
       "«for (control_block* each : *also) each->let_go();» } turn_context& here_;", "")

in_file("src/actor/kept_message.cpp")
mutant("unstashed_stays_counted", "after", "what is unstashed is counted as stashed for good",
       "its->kept_units = 0;", "")
mutant("examined_units_are_lost", "crossed", "what one exclusive handler has stashed does not count for the mailbox during the next",
       "its.kept_units += its.examined_units;", "")
mutant("unstashed_twice_is_not_examined", "crossed", "units of messages that are unstashed in front of examined ones are not counted",
       "if (has_examined()) its->examined_units += its->kept_units;", "")
mutant("examined_units_stay", "crossed", "a message that was examined and handled counts as stashed during the next exclusive handler",
       "its.examined_units -= std::min(its.examined_units, static_cast<std::uint32_t>(units));", "")

in_file("src/actor/batches.cpp")
mutant("batch_keeps_budget", "crossed", "the followers of a batch stay charged to their budget",
       "give_back_to_budget(counts.bytes);", "")
mutant("batch_resumes_nobody", "crossed", "a batch that empties the mailbox does not resume its senders",
       "if (inbox().handled(counts.units, bounds.quantum) && inbox().make_room(bounds.low)) "
       "{ home().pauses().release_waiters_of(*this); }",
       "(void)inbox().handled(counts.units, bounds.quantum);",
       reason="the first message of the batch, which is counted after it, makes the room")
mutant("batch_keeps_place", "crossed", "the followers of a batch keep the places of their type",
       "«if (how.most != 0) overload(*this).give_place_back(how);» *end = message;", "")
mutant("batch_counts_ring", "crossed", "a batch out of a ring takes units off that the ring does not count",
       "if (!in_ring) counts.units += bounds.units(charge, how.weight);",
       "counts.units += bounds.units(charge, how.weight);")

in_file("src/actor/drop_ring.cpp")
mutant("ring_forgets_it_is_empty", "after", "a ring that was empty loses what comes next",
       "if (of.oldest == nullptr) of.newest = nullptr;", "")
mutant("ring_bytes_off_by_one", "plain", "a ring drops the oldest although the bytes fit exactly",
       "(count() != 0 && «bytes > bytes_max_ - bytes_»)", "bytes >= bytes_max_ - bytes_")

in_file("src/actor/priorities.cpp")
mutant("sorting_resumes_nobody", "crossed", "where high messages are sorted, those that wait for room are not resumed",
       "if (got.room) home().pauses().release_waiters_of(*this);", "")

in_file("src/actor/task.cpp")
mutant("held_up_once", "after", "a handler that was held up once is lost when it is held up again",
       "next.held_up = false;", "")

# ── Timers ──────────────────────────────────────────────────────────────────────────────────────

in_file("src/actor/timer_service.cpp")
mutant("cancel_leaves_tick", "third", "a tick in the mailbox is handled after cancel()",
       "if («!entry.is_node() && !entry.claim()») return false; // it is being", "false")
mutant("cancel_denies_tick", "negative", "cancel() says false while its tick lies in the mailbox, and it comes",
       "if («!entry.is_node() && !entry.claim()») return false; // it is being", "!entry.is_node()")
mutant("restart_cancels_others", "crossed", "a restart cancels the timers that others have armed",
       "if («!each.own || each.alarm») continue;", "each.alarm")
mutant("restart_holds_for_timers", "crossed", "timers cancelled by a restart keep their actor alive",
       "while (references-- != 0) of.let_go();", "")
mutant("late_timer_is_no_dead_letter", "plain", "a timer for an actor that has ended is no dead letter",
       "lock.unlock(); «to.dead_letter(message, trace);» return {};", "")
mutant("reused_timer_is_claimed", "third", "a timer in the place of one that fired does not fire",
       "entry.claimed.store(false, relaxed);", "")
mutant("timer_has_no_generation", "third", "an old handle cancels the timer that has its place now",
       "++entry.generation;", "")
mutant("timeout_resumes_nobody", "crossed", "a suspended actor misses the time-outs of its handlers",
       "«pauses::release(*each, true);» each->let_go();", "")
mutant("copied_message_is_destroyed", "crossed", "a timer cancelled while its message is copied destroys the original",
       "} else if («!entry.cloning») {", "true")
mutant("sooner_timer_does_not_wake", "plain", "a timer that is due before all others waits for these",
       "«if (sooner) parker_.notify();» return handle;", "")

in_file("src/actor/timer_firing.cpp")
mutant("missed_are_not_counted", "plain", "periods that have passed altogether are not counted as skipped",
       "skipped_ += static_cast<std::uint64_t>(missed);", "")
mutant("queued_are_not_counted", "plain", "a period whose tick before is not handled is not counted as skipped",
       "if (entry.queued) { «++skipped_;»", "")

in_file("src/actor/timer_ticks.cpp")
mutant("cancelled_copy_leaks", "crossed", "a timer cancelled while its message is copied keeps the message",
       "if (!entry.live) cancelled = std::exchange(entry.message(), nullptr);", "")

in_file("src/time/timer_wheel.cpp")
mutant("timers_are_early", "plain", "a timer fires up to a tick too early",
       "std::min(«((static_cast<std::uint64_t>(since) - 1) >> tick_bits) + 1», last_tick)",
       "static_cast<std::uint64_t>(since) >> tick_bits")
mutant("removed_timer_wakes", "after", "a wheel whose last timer was removed still names its time",
       "if (node.previous_ == node.next_) empty(static_cast<unsigned>(node.next_ - slots_.data()));", "")

# ── Channels ────────────────────────────────────────────────────────────────────────────────────

in_file("src/channel/channel_core.cpp")
mutant("received_lets_nobody_in", "plain", "who waits to send stays outside when a place is free",
       "if (is_full()) return progress::done; «if (channel_case* const from = first_undecided(senders_)) "
       "{ of_.move(push_slot(), from->value); told.add(*from->who, from); }» return progress::done;", "")
mutant("handed_over_has_no_turn", "crossed", "values that are given back come in another order",
       "to->turn = ++turns_;", "")
mutant("given_back_has_no_turn", "crossed", "a value that is given back twice loses its place",
       "to->turn = c.turn;", "")
mutant("given_back_to_nobody", "crossed", "a value that is given back to a channel without receivers is kept",
       "if («receiving_ends_ == 0») { // It cannot", "false")
mutant("given_back_beyond_capacity", "crossed", "with drop_oldest a full channel takes what is given back",
       "} else if («on_full_ == overflow::policy::drop_oldest && is_full()») {", "false")
mutant("given_back_in_reverse", "crossed", "of two values that are given back the newer is received first",
       "while (*before != nullptr && «(*before)->turn < c.turn»)", "(*before)->turn > c.turn")
mutant("given_back_is_counted_on", "after", "a value that was given back and received is still counted",
       "--returned_count_;", "")
mutant("closed_keeps_count_of_returned", "after", "a channel without receivers still counts what was given back",
       "returned = std::exchange(returned_, nullptr); «returned_count_ = 0;»", "")
mutant("given_back_lets_too_many_in", "crossed", "a receiver of a value given back lets a sender into a full channel",
       "take_oldest(c.value); «if (is_full()) return progress::done;»", "")
mutant("given_back_is_not_received", "negative", "a channel that has only what was given back is said to be empty",
       "if («count_ + returned_count_ == 0») {", "count_ == 0")
mutant("given_back_drop_is_not_counted", "after", "a value given back to a full channel is dropped uncounted",
       "«++counts_.dropped;» // this value", "")
mutant("waiting_sender_is_not_counted", "after", "who waits to send is not counted as suspended",
       "if (c.sends) ++counts_.paused;", "")
mutant("dropped_newest_is_refused", "plain", "a dropped value is counted as refused",
       "++(«on_full_ == overflow::policy::drop_newest ? counts_.dropped : counts_.refused»);", "counts_.refused")
mutant("decided_is_served_again", "third", "a value goes to who has been served elsewhere, and is lost",
       "if (c->who->decide()) return c;", "(void)c->who->decide(); return c;")
mutant("line_size_grows", "after", "who has left a channel's line is still counted as waiting",
       "c.in_line = false; «--size_;»", "")
mutant("closed_case_has_no_end", "plain", "a select is not told of the end of the channel that it waits for",
       "c->at_end = c->tells_end;", "")

in_file("src/channel/channel_handler.cpp")
mutant("destroyed_handler_keeps_value", "crossed", "a value that was given to a destroyed handler is lost",
       "given->of->give_back(*given);", "")
mutant("timed_out_handler_loses_value", "third", "a value that comes with the time-out of a handler is lost",
       "channel_case* const done = told.done(); «became_ = {done != nullptr ? progress::done : progress::closed, done};» "
       "told.awaited", "became_ = {progress::must_wait, nullptr};")
mutant("served_handler_holds_actor", "after", "a handler that need not wait in a channel holds its actor for good",
       "free_envelope(*std::exchange(told_, nullptr)); «me_->let_go();» return false;", "")
mutant("left_channel_holds_actor", "after", "a handler that gave up a channel holds its actor for good",
       "free_envelope(told); «me_->let_go();» return;", "")

in_file("src/channel/channel_wait.cpp")
mutant("timed_out_thread_loses_value", "third", "a value that comes with the time-out of a thread is lost",
       "if (decide()) return false;", "(void)decide(); return false;")
mutant("timed_out_thread_stays_in_line", "after", "a thread whose time is over stands in the line for good",
       "if («!told || cases.size() > 1») channel_core::leave(cases);", "cases.size() > 1")
mutant("channel_timeout_is_not_counted", "after", "a time-out of who waits to send is not counted",
       "value.of->count_timed_out();", "")

# ── Requests ────────────────────────────────────────────────────────────────────────────────────

in_file("src/actor/ask.cpp")
mutant("late_reply_is_not_counted", "after", "a reply that comes too late is not counted",
       "«me.home().count_late_answer();» return answered.how", "")
mutant("let_go_request_stays", "after", "a request that was let go of stays in its actor's table",
       "«if (me_ != nullptr && now == state::waiting) (void)table_of_mine().take(at_);» if (answer", "")
mutant("request_stays_in_circles", "after", "a request that is over is still part of wait cycles",
       "if (in_cycle_search_) me_->home().request_cycles().end({number_, me_->where(), to_, because_, blocks_});", "")
mutant("get_stays_in_circles", "after", "a get() that is over is still part of wait cycles",
       "if (answer == nullptr) circle_ = all.find(mine); «all.end(mine);»", "")
mutant("refused_get_blocks", "refusal", "a get() that is refused leaves its thread counted as blocked",
       "«here.has_blocked();» refuse_to_wait( me.name(), \"would wait for an actor of a pool", "")
mutant("one_timeout_only", "after", "after one time-out of an actor its others do not come",
       "«look_by(*this, table, table.next_due());» } // ──", "")
mutant("alarm_stays_set", "after", "after a time-out an actor does not look at a sooner time",
       "table.alarm_at = time_point::max();", "")
mutant("failed_wait_stays", "refusal", "a wait for which there is no memory stays in the table",
       "«(void)table.take(at);» throw; } return at; } } // namespace", "")

# ── Names, topics, supervisors ──────────────────────────────────────────────────────────────────

in_file("src/supervision/registry.cpp")
mutant("ended_keeps_name", "third", "a name that an ended actor asked for is taken for good",
       "if (!lives) { «here.names.erase(at);» return {outcome::ended, {}};", "")
mutant("name_without_memory_stays", "refusal", "a name for which there is no memory is taken for good",
       "} catch (...) { «here.names.erase(at);» throw; }", "")
mutant("name_waiters_are_not_told", "plain", "who waits for a name is not told of it",
       "told.take_out(here, added);", "")
mutant("others_take_name_away", "plain", "a name can be taken from its holder by others",
       "at == here.names.end() || «at->second->who != who») return false;", "false")
mutant("one_thread_is_told", "third", "of two threads that wait for names only one is woken",
       "here.added.notify_all();", "here.added.notify_one();")
mutant("ended_waits_for_name", "third", "an ended actor stays among those that wait for a name",
       "if (!lives) { «group->second.erase(fresh->key);» return; }", "")
mutant("ending_is_found", "third", "an actor that is ending is found by its name",
       "return «holder.is_there() ? seen.who : address{}»;", "seen.who")
mutant("stopped_telling_stays", "third", "who does not want to be told of a name any more is told",
       "name_waiter& one = **at; «group->second.erase(one.key);»", "")
mutant("removed_name_is_denied", "negative", "remove() of a name says false although it was removed",
       "if (take_out(one)) own.reset(&one); «return true;» } void registry::check_name", "return false;")
mutant("timed_wait_misses_name", "negative", "a name that comes with the time-out of a wait is missed",
       "if (is_late) «return hold_if_it_is(look(here, name), name, type, none);»", "return nullptr;",
       reason="as if the time had been over a moment earlier")

in_file("src/supervision/name_registry.cpp")
mutant("empty_wait_for_a_name_stays", "after", "a name that nobody waits for any more stays among those that are waited for",
       "at->second.erase(ended.key); «if (at->second.empty()) its.waiting.erase(at);»", "")
mutant("name_outlives_its_actor", "third", "the name of an actor that has ended is taken for good",
       "«if (ended.in_table) its.names.erase(ended.name);»", "")

in_file("src/supervision/awaited_name.cpp")
mutant("destroyed_handler_is_told_name", "third", "a handler that was destroyed is told of its name",
       "if (!registry_.cancel_notification(name_, me_->where(), this)) message->awaited = nullptr;",
       "(void)registry_.cancel_notification(name_, me_->where(), this);")

in_file("src/supervision/topic_core.cpp")
mutant("left_subscriber_is_reached", "third", "a second publish goes to who has unsubscribed before",
       "left.topic = std::move(one.topic_); «left.copy = std::move(copy_); copy_ = nullptr;» list_.erase(one.at_);", "")
mutant("new_subscriber_is_missed", "third", "a second publish does not go to who has subscribed since the first",
       "«left.copy = std::move(copy_); copy_ = nullptr;» if (message != nullptr", "")
mutant("unsubscribed_is_active", "after", "a subscription that has ended says that it has not",
       "one.active.store(false, relaxed);", "")
mutant("old_retained_is_taken", "third", "who subscribes while another message is published gets the older one",
       "if («if_retained != nullptr && retained_.get() != if_retained») return added::outdated;", "false")
mutant("old_topic_removes_new", "third", "the end of a topic takes its successor's name away",
       "if («at != table->topics.end() && at->second.expired()»)", "at != table->topics.end()")
mutant("ended_stays_subscribed", "third", "an actor that has ended stays in the list of a topic",
       "«if (ended.topic_ != nullptr) take_out(ended, left);» left.itself", "")
mutant("unsubscribe_is_denied", "negative", "unsubscribe() says false although it has ended the subscription",
       "left.itself = std::move(one.itself_); «return true;» } void topic_core::release", "return false;")

in_file("src/supervision/supervisor.cpp")
mutant("started_stays_ordered", "after", "a child that was restarted with others waits for these for good",
       "child.deadline = time_point::max(); «child.ordered = false;»", "")
mutant("second_group_restart_is_mute", "after", "the second time that a group is restarted its children go on",
       "child.now = state::between; «child.told = false;»", "")
mutant("group_forgets_backoff", "crossed", "the others of a group are restarted before the one that failed may be",
       "each->not_before = std::max(each->not_before, child.not_before);", "")
mutant("rest_for_one_takes_all", "plain", "rest_for_one restarts those before the one that failed, too",
       "auto each = «all ? children_.begin() : at»;", "children_.begin()")
mutant("gone_child_is_restarted", "crossed", "a child that ended for good is restarted with its group",
       "each.deadline = time_point::max(); «each.restarts_with_others = false;» if (!end.what", "")
mutant("second_deadline_is_missed", "after", "a supervisor looks at the time once, and never again",
       "«next_call_ = time_point::max();» look_at_deadlines", "")
mutant("stop_now_has_no_deadline", "after", "a child that does not end with stop_now() is waited for without end",
       "each.block->stop_now(); «each.deadline = later(now, each.spec.stop_timeout());»", "")

in_file("src/supervision/child_record.cpp")
mutant("comes_back_again", "after", "a child that was restarted with its group is restarted after a normal stop too",
       "at_end_ = at_end::by_policy; has_object_ = true;", "has_object_ = true;")
mutant("end_object_without_object", "third", "a child that has just ended is ended once more with its group",
       "if (!has_object_) return;", "")
mutant("stopped_child_comes_back", "crossed", "a child that was stopped comes back because its group is restarted",
       "if (why != exit_reason::stopped) return true; break;", "return true;")
mutant("final_is_overlooked", "third", "a child that is told to end for good while it ends waits for its supervisor",
       "if («is_over || !tell(std::move(note))»)", "!tell(std::move(note))")
mutant("pace_window_off_by_one", "plain", "a restart exactly at the end of the window is forgotten",
       "«now - recent_.front() > rules_.within») recent_", "now - recent_.front() >= rules_.within")
mutant("failures_are_never_forgotten", "after", "a child that has run for long is restarted as late as before",
       "of.failed_in_a_row = 0;", "")

in_file("src/supervision/dynamic_supervisor.cpp")
mutant("gone_child_is_due", "third", "the deadline of a child that is gone is looked at",
       "«not_due(at->second);» at->second.block->let_go();", "")
mutant("ended_before_told_stays", "third", "a child that ends while its supervisor does is waited for",
       "«child.record->end_for_good(*child.block, child.ended_as);» } void dynamic_children::failed", "",
        reason="who ends a child for good decides it, or the child does when its object has ended: this is the second time")
mutant("started_by_an_ending_one", "crossed", "a supervisor that ends starts a child that then stays",
       "if («ending_») { child->now = state::stopping;", "false")
mutant("dynamic_stop_now_has_no_deadline", "after", "a dynamic child that does not end with stop_now() is waited for",
       "return due_at(child, later(now, child.spec.stop_timeout()));", "return;")
mutant("left_behind_keeps_address", "third", "the end of a child that was left behind is taken for one that is there",
       "ids_.erase(child.who);", "")

in_file("src/supervision/worker_routes.cpp")
mutant("least_loaded_is_dead", "third", "a router chooses a worker that has ended",
       "«if (each->is_closed_behind()) continue;» const std::uint32_t its", "")

# ── Synchronisation, memory, scheduling ─────────────────────────────────────────────────────────

in_file("src/sync/semaphore.cpp")
mutant("timed_out_waker_stays", "after", "after a time-out that met a promise nobody else is woken",
       "} while (!state_.compare_exchange_weak(found, «found & ~waking», relaxed, relaxed)); return wait_result::timed_out;",
       "found")
mutant("timed_out_sleeper_stays", "after", "a waiter whose time is over is counted as asleep for good",
       "found - takes * permit - sleeper", "found - takes * permit")
mutant("collected_are_lost", "refusal", "permits that were collected before a time-out are lost",
       "if («wanted > 0 && wanted < count») {", "false")
mutant("woken_wakes_nobody", "third", "a waiter that leaves permits does not wake the next one",
       "const bool wakes = «permits_in(left) > 0 && (left & sleepers) != 0 && (left & waking) == 0»;", "false")
mutant("refused_post_counts", "refusal", "a post that is refused is counted all the same",
       "«state_.fetch_sub(permit, relaxed);» refuse", "")
mutant("most_off_by_one", "plain", "a semaphore refuses the last permit that it can hold",
       "if («std::uint64_t{count} + permits_in(found) > most()») refuse",
       "std::uint64_t{count} + permits_in(found) >= most()")
mutant("last_permit_is_denied", "negative", "try_wait() does not take the last permits",
       "while («permits_in(found) >= count») {", "permits_in(found) > count")
mutant("taken_is_timed_out", "negative", "a permit taken at the time-out is reported as a time-out",
       "takes > 0 ? wait_result::taken : wait_result::timed_out", "wait_result::timed_out")

in_file("src/sync/event.cpp")
mutant("set_at_timeout_is_denied", "negative", "an event that is set with the time-out is said not to be",
       "deadline)) { «return is_set();»", "return false;",
       reason="as if the time had been over a moment earlier")

in_file("src/sync/event_count.cpp")
mutant("notified_at_timeout_is_denied", "negative", "a notification that comes with the time-out is missed",
       "«notified = is_notified();» break;", "",
       reason="as if the time had been over a moment earlier")

in_file("src/sync/turnstile.cpp")
mutant("promise_at_timeout_is_lost", "negative", "a promise that comes with the time-out is not taken",
       "«return take();» } return true;", "return false;",
       reason="give_up() then takes the promise, or the next sleeper passes on it")

in_file("src/sync/parker.cpp")
mutant("token_at_timeout_is_lost", "negative", "a notification that comes with the time-out is swallowed",
       "state_.exchange(awake, acquire) == token", "(state_.exchange(awake, acquire), false)")
mutant("timed_out_stays_asleep", "after", "after a time-out the next park() finds somebody asleep",
       "return «state_.exchange(awake, acquire) == token»; } } while", "state_.load(acquire) == token")

in_file("src/memory/surplus.cpp")
mutant("new_listener_is_not_told", "third", "who listens after the signal is not told",
       "if (raised_) listener.on_surplus();", "")
mutant("next_listener_is_not_told", "third", "the next listener is not told of what the one before has left",
       "if (was_told && raised_ && first_ != nullptr) first_->on_surplus();", "")
mutant("owed_is_forgotten", "third", "what a listener that leaves still owed is forgotten",
       "if (owes) raised_ = true;", "")

in_file("src/memory/page_depot.cpp")
mutant("depot_tells_once", "after", "a depot tells of its surplus only once",
       "const std::lock_guard lock(mutex_); «told_ = false;»", "")

in_file("src/memory/magazine.cpp")
mutant("closed_cache_loses_blocks", "refusal", "a closed cache loses the blocks that it took too many",
       "if (count > 1) home.give(std::span(got).subspan(1, count - 1));", "")

in_file("src/memory/chunk_store.cpp")
mutant("vacated_is_resident", "after", "pages that were given back are still counted",
       "touched_ -= these.count;", "")

in_file("src/memory/pool.cpp")
mutant("one_round_only", "after", "after one round of giving back the pool looks at nothing new",
       "return pool_rest::now; } «round.begun = false;»", "")

in_file("src/mailbox/mailbox.cpp")
mutant("room_counts_handled_twice", "after", "what was handled is taken off the count twice",
       "«of.list_.handled_ = 0;» return {has_message", "")
mutant("made_room_counts_twice", "after", "what was handled is taken off the count twice where there is room",
       "«list_.handled_ = 0;» const word before", "")
mutant("room_is_wanted_when_there", "negative", "a mailbox that is exactly half empty is said to have no room",
       "«units_of(head) <= low») return false;", "units_of(head) < low")

in_file("src/scheduler/pool_threads.cpp")
mutant("blocked_stays_blocked", "after", "a thread that has blocked once is counted as blocked for good",
       "const std::lock_guard lock(threads_mutex_); «here->blocks(false);»", "")
mutant("spare_thread_is_lost", "third", "a thread that was not needed after all never gets work again",
       "resting_.push_back(other); return true;", "return true;")
mutant("reused_thread_is_gone", "after", "a thread that is used again is counted as gone",
       "--gone_;", "")

# ── Network, simulation, testkit ────────────────────────────────────────────────────────────────

in_file("src/net/listener.cpp")
mutant("pause_of_accept_is_final", "after", "a listener without descriptors never accepts again",
       "tell_paused(m.error); «accepting(self(this), m.onto, retry_);»", "")
mutant("reserved_request_is_sent_once", "after", "the second request from reserved memory is not sent",
       "const accept asked{me.onto_}; «me.end();»", "")
mutant("aborted_connection_ends_listening", "after", "after a connection that was aborted no other is accepted",
       "«on(accept{m.onto});» } else {", "")

in_file("src/net/simulated_end.hpp")
mutant("reader_resumes_no_writer", "plain", "a writer that waits for its reader waits forever",
       "if (peer_ != nullptr) peer_->go_on_writing();", "")
mutant("closed_end_is_moved", "third", "an end that is moved stays with the context where it was",
       "if (on_ != nullptr) on_->remove(*this); on_ = &simulated_context::of(onto);",
       "on_ = &simulated_context::of(onto);")

in_file("src/sim/simulation.cpp")
mutant("faults_do_not_end", "after", "actors that were to fail fail after the end of the faults",
       "faults_are_over_ = true; «fails_at_.clear();»", "")
mutant("broken_is_told_forever", "after", "a broken invariant is told again after it was told",
       "«invariants_.clear();» throw broken_invariant(told.name", "")
mutant("faults_are_not_counted", "plain", "faults are not counted", "++faults_so_far_; return true;", "return true;")
mutant("closed_loop_gets_turns", "third", "a loop that is closed gets the turn that it was promised",
       "std::erase_if(ready_, [&](const turn_to_give& each) { return each.of == &e; });", "")

in_file("include/troupe/detail/testkit/probe_box.hpp")
mutant("ignored_are_waiting", "plain", "messages that are ignored are counted as waiting",
       "return !ignored_[each.index()];", "return true;")
mutant("ends_are_seen_twice", "after", "an end that was expected is there still",
       "down found = std::move(*at); «ends_.erase(at);»", "")
mutant("probe_loses_silently", "refusal", "a probe that is full loses messages without a word",
       "++lost_;", "")

# ── HTTP ────────────────────────────────────────────────────────────────────────────────────────

in_file("src/http/admission.cpp")
mutant("left_is_counted", "after", "a connection that has left is counted for all",
       "leave_each(client_key(from)); «--all_;»", "")

in_file("src/http/rate_limiter.cpp")
mutant("refused_is_charged", "refusal", "a request beyond its rate is charged, so that the address never gets one again",
       "if («missing <= 0 || may_overdraw») {", "true")

in_file("src/http/http_steps.hpp")
mutant("client_of_proxy_stays", "after", "a client keeps its place on the connection of a proxy after its request",
       "if (!is_proxied_) return; «place_.leave();»", "")

in_file("src/http/client_address.cpp")
mutant("mapped_are_one", "crossed", "all IPv4 clients of an IPv6 socket count as one",
       "if (from.is_v6() && «from.to_v6().is_v4_mapped()») {", "false")

in_file("src/http/gate.cpp")
mutant("refusals_add_up", "after", "after so many refusals no client is answered any more",
       "} else { «--refusals_;» }", "")
mutant("failed_admission_keeps_place", "refusal", "a connection for which there is no memory keeps its place",
       "visitors_.erase(at); «take_place_back(v);» throw;", "")
mutant("unwatched_is_forgotten", "third", "of two connections without a monitor, one keeps its place",
       "one.next_unwatched = std::exchange(unwatched_, &one);", "unwatched_ = &one;")
mutant("connections_add_up", "after", "closed connections are still counted",
       "on_->counts.connections.subtract();", "")

in_file("src/http/body_decoder.cpp")
mutant("digits_add_up", "after", "the digits of all chunk sizes of a body are counted together",
       "left_ = 0; «digits_ = 0;» return c ==", "")

in_file("src/http/body_budget.hpp")
mutant("bodies_off_by_one", "plain", "the budget of bodies refuses the body that fills it exactly",
       "if («bytes > limit_ - taken») return false;", "bytes >= limit_ - taken")

in_file("src/http/http_steps.hpp")
mutant("unread_body_is_next_request", "crossed", "a body that nobody reads is taken for the next request",
       "«keep_alive_ = false;» unread_ = true; return answer();", "")
mutant("handshake_is_due_again", "after", "the second request of a connection must come within the handshake's time",
       "handshake_due_ = time_point::max();", "")
mutant("answered_keeps_bodies", "after", "the body of a request that was answered stays charged",
       "«share_.clear();» if (auto* to =", "")
mutant("refused_keeps_bodies", "refusal", "the body of a refused request stays charged while its client lingers",
       "«share_.clear();» write(std::move(r)); } template <class Stream> void http_stage<Stream>::write", "")
mutant("body_is_charged_twice", "plain", "a body that grows is charged for what it had before once more",
       "share_.grow(room - («body_.empty() ? 0 : body_.capacity()»))", "std::size_t{0}")
mutant("body_limit_off_by_one", "plain", "a chunked body that is exactly as long as allowed is refused",
       "if («decoder_->data().size() > this->limits().body_bytes - body_.size()») {",
       "decoder_->data().size() >= this->limits().body_bytes - body_.size()")
mutant("refused_goes_on", "after", "what follows a refused request is taken for the next one",
       "«keep_alive_ = false;» unread_ = true; reply r", "")
mutant("frames_before_upgrade", "plain", "what was sent before the answer to an upgrade is read as frames",
       "if («!in_.unread().empty()») { upgrade_.reset(); this->counts().malformed_requests", "false")
mutant("log_names_request_before", "third", "the access log names the request before for a malformed one",
       "method_.clear(); target_.clear();", "")
mutant("drained_goes_on", "crossed", "a connection that drains takes more requests",
       "keep_alive_ = keep_alive_ && «!(draining_ && in_.unread().empty())»;", "true")

in_file("src/http/request_parser.cpp")
mutant("headers_off_by_one", "plain", "headers that are exactly as long as allowed are refused",
       "if («piece.size() > bytes_max_ - used_») return too_large();", "piece.size() >= bytes_max_ - used_")
mutant("two_lengths", "plain", "a second Content-Length is overlooked",
       "if («lines > 1» || text.empty()", "false")
mutant("continue_in_old_version", "crossed", "an HTTP/1.0 client gets an interim answer",
       "head_.expects_continue = «head_.version >= 11» &&", "true")
mutant("encoding_and_length", "crossed", "Transfer-Encoding and Content-Length together are taken",
       "if («head_.asked.has_header(\"Content-Length\")») {", "false")

in_file("src/http/frame_parser.cpp")
mutant("fragments_have_no_limit", "crossed", "a message in fragments may be larger than one in a frame",
       "h.payload_bytes > «message_bytes_max_ - message_.size()»", "message_bytes_max_")

in_file("src/http/websocket_steps.hpp")
mutant("held_back_is_silent", "crossed", "a client that was held back is taken for silent",
       "this->counts().held_back.subtract(); «stream_.meter().heard = clock::now();»", "")
mutant("message_stays_due", "after", "the deadline of a message that has come stays",
       "if (!is_used_up && !parser_.is_within_message()) message_due_ = time_point::max();", "")
mutant("second_refusal_asks_nobody", "after", "the second time that a session refuses its mark is not asked for",
       "patience_ = {}; «asked_ = asked::no;» switch", "")

mutant("violation_drops_replies", "crossed", "replies to messages before a violation are dropped",
       "begin_failing({.code = parser_.code(), .reason = std::string{parser_.payload()}});",
       "close({.code = parser_.code(), .reason = std::string{parser_.payload()}});")
mutant("violation_waits_forever", "third", "a session that never replies keeps a client that has broken the protocol",
       "if («now < std::min(due_, written_due_)») return due_;", "true")

in_file("src/http/respond.cpp")
mutant("refused_host_is_answered", "plain", "a page can read a listener for operators through DNS rebinding",
       "if («!on.hosts.allows(asked.header(\"Host\"))») return of_unknown_host(c, asked);", "false")
mutant("refused_host_is_read", "crossed", "the body of a request for an unknown host is read",
       "«!on.hosts.allows(head.asked.header(\"Host\"))» ||", "false")
mutant("upgrades_have_no_limit", "plain", "the requests that WebSockets keep have no limit together",
       "if («!to.share->resize(bytes - own_request_bytes)»)", "false")

in_file("src/http/request.cpp")
mutant("repeated_headers_are_kept", "plain", "a kept request has headers that nothing can read",
       "those.erase(end, those.end());", "")

in_file("src/http/channel.cpp")
mutant("overflow_keeps_bytes", "refusal", "frames that are dropped for a slow reader are still charged",
       "for (const frame& waiting : queue_) bytes_ -= waiting.cost();", "")
mutant("poked_once", "after", "a connection is told of what to send only once",
       "if (batch.empty()) poked_ = false;", "")

in_file("src/http/byte_share.hpp")
mutant("shrinking_keeps_bytes", "after", "a share that shrinks gives nothing back",
       "if (bytes < bytes_) of_->subtract(bytes_ - bytes);", "")

in_file("src/http/client_pool.cpp")
mutant("client_queue_off_by_one", "plain", "one request fewer may wait than queue_max says",
       "«waiting_.size() <= options_.queue_max» ||", "waiting_.size() < options_.queue_max")
mutant("repeated_without_end", "plain", "a request is repeated as often as kept connections fail",
       "if («which->repeated || !may_be_repeated(which->what.method)») {", "!may_be_repeated(which->what.method)",
       reason="a request that is repeated takes no kept connection, so this does not come twice")
mutant("redirect_to_plain", "plain", "a redirect from https to http is followed",
       "if («which.to.is_secure && !next->is_secure») {", "false")
mutant("redirects_off_by_one", "plain", "one redirect fewer is followed than allowed",
       "if («++which.redirected > which.what.redirects») {", "++which.redirected >= which.what.redirects")

in_file("src/http/origin.cpp")
mutant("any_name_is_own", "plain", "a name that an attacker can make resolve to the server passes as its own",
       "(!is_secure_ && «is_safe_from_rebinding(from->authority, listens_on_)»)", "true")

in_file("src/http/host_policy.cpp")
mutant("listed_name_has_no_port", "plain", "a listed host name passes only without a port",
       "names_.end(), «host_of(authority)»)", "authority")

in_file("src/http/allowed_hosts.cpp")
mutant("pattern_allows_nothing_before", "plain", "*.example.org allows a host without anything before the dot",
       "«host.size() > p.host.size()» &&", "host.size() >= p.host.size()")

# ── Lua ─────────────────────────────────────────────────────────────────────────────────────────

in_file("src/lua/shared_store.cpp")
mutant("new_time_keeps_old", "third", "an entry that gets another time expires at the old one, too",
       "if (before != due_.end()) due_.erase(before);", "")
mutant("increase_forgets_time", "crossed", "an entry that is increased does not expire any more",
       "until = at->second.due == due_.end() ? never : at->second.due->first;", "until = never;")
mutant("full_store_counts_nothing", "refusal", "what a full store refuses is not counted",
       "++counts_.refused;", "")
mutant("store_entries_off_by_one", "plain", "a store takes one entry fewer than allowed",
       "entries_.size() + entries <= bounds_.entries", "entries_.size() + entries < bounds_.entries")
mutant("read_is_not_recent", "plain", "what is read is evicted as if it was not",
       "++counts_.hits; «recent_.splice(recent_.begin(), recent_, at->second.recent);»", "")
mutant("expired_is_there", "negative", "add() finds a key taken that has expired",
       "if («look(key, now) != entries_.end()») return written::not_done;", "entries_.find(key) != entries_.end()")

in_file("src/lua/shared_queues.cpp")
mutant("taken_keeps_bytes", "after", "an item that was taken is still charged to its application",
       "bytes_.give_back(first.application, first.cost());", "")
mutant("put_back_is_free", "crossed", "an item that was put back is charged to nobody",
       "bytes_.add(application, its->items.front().cost());", "")
mutant("leaving_tells_nobody", "third", "an item that was promised to who leaves is promised to nobody else",
       "its->told.erase(which); «tell_who_can(*its, whom);»", "")
mutant("closed_queue_keeps_quota", "after", "a queue that has ended counts for its application's quota",
       "made_.give_back(its.application, 1); queues_.erase(which);", "queues_.erase(which);")
mutant("told_loses_place", "third", "a consumer that came too late loses its place in the line",
       "if (auto mine = its->told.extract(which)) its->untold.insert(std::move(mine));", "its->told.erase(which);")
mutant("promised_is_taken", "third", "take() takes an item that was promised to another consumer",
       "its->items.size() <= its->told.size()", "its->items.size() < its->told.size()")

in_file("src/lua/topic_members.cpp")
mutant("smaller_meta_keeps_bytes", "after", "an attendee whose meta shrinks is charged as before",
       "bytes_.give_back(application, freed - std::min(bytes, freed));", "")
mutant("untracked_keeps_bytes", "after", "an attendee that has left is still charged",
       "bytes_.give_back(application_of(name), gone.mapped().who->meta.size());", "")
mutant("refused_attendee_keeps_place", "refusal", "an attendee that is refused keeps its place",
       "if (is_new && has_place) present_.give_back(application, 1);", "")
mutant("watched_crowd_ends", "crossed", "a topic that is only watched is forgotten, with who watches it",
       "if («!its.followers.empty() || !its.present.empty() || !its.watching.empty()») return;",
       "!its.followers.empty() || !its.present.empty()")
mutant("left_follower_is_listed", "third", "a second publish goes to who has left before",
       "found->second.listed.reset();", "")
mutant("dropped_joiner_is_told_of", "crossed", "who watches hears of the leaving of one whose joining was dropped",
       "if (what == presence_change::joined) of.untold.push_back(box->id());", "")

in_file("src/lua/presence.cpp")
mutant("leavings_add_up", "after", "events of leaving that were taken make room for others for good",
       "if (each.what == presence_change::left) --leaves_;", "")

in_file("src/lua/instance_memberships.cpp")
mutant("gone_client_is_present", "after", "a client that is gone is still present",
       "if (is.is_present) all_->topic_members().untrack(name, client);", "")
mutant("subscribed_once", "crossed", "two subscriptions end with the first unsubscribe",
       "++found->second.times;", "")

in_file("src/lua/tasks.cpp")
mutant("waiting_off_by_one", "plain", "one more handler may wait than allowed",
       "if («waiting_.size() >= waiting_max_») {", "waiting_.size() > waiting_max_")

in_file("src/lua/succession.cpp")
mutant("early_outlive_abandoning", "third", "the timers of an abandoned version ring in the next one",
       "early_.clear();", "",
       "what rings has the number of its version in it, and is found in no other")
mutant("failed_upgrade_stays", "after", "a version whose on_upgrade failed can take over later",
       "if (const std::string why_not = next_->take_over(saved); !why_not.empty()) { «abandon({});»", "",
       "the application then has each instance that has not taken over abandon its new version")

in_file("src/lua/governor.cpp")
mutant("verdict_stays", "after", "a run is killed for the one before",
       "return «std::exchange(verdict_, verdict::none)»;", "verdict_")

in_file("src/lua/rpc_read.cpp")
mutant("notification_is_answered", "crossed", "an invalid message that is no request is answered by its number",
       "if («got_.what == kind::request») wrong.id = got_.id;", "true")

# ── Server ──────────────────────────────────────────────────────────────────────────────────────

in_file("src/server/line_quota.hpp")
mutant("left_out_add_up", "after", "lines that were left out are told of again and again",
       "return «std::exchange(left_out_, 0)»;", "left_out_")

in_file("src/server/line_queue.hpp")
mutant("lines_off_by_one", "plain", "a queue of lines refuses the line that fills it exactly",
       "if («bytes > bytes_max_ - bytes_») return false;", "bytes >= bytes_max_ - bytes_")

in_file("src/server/control.cpp")
mutant("mask_stays", "after", "files that the server makes later are for its user alone",
       "acceptor.bind(here, error); «::umask(before);»", "")
mutant("second_server_takes_socket", "third", "a second server takes the control socket of the first",
       "if («somebody_listens(here)») refuse", "false")

in_file("src/server/units.cpp")
mutant("size_overflows", "plain", "a size beyond what fits becomes a small one",
       "if («number > most / each.factor») return std::nullopt;", "false")

in_file("src/server/journal.cpp")
mutant("left_out_is_said_twice", "after", "the lines that were left out are counted from the beginning each time",
       "«said_left_out_.exchange(all, relaxed)»; // [count]", "said_left_out_.load(relaxed)")

in_file("src/server/descriptors.cpp")
mutant("clients_need_no_descriptors", "crossed", "outgoing connections are not counted among what is reserved",
       "if («!its.outgoing.are_all() && its.outgoing.list().empty()») continue;", "true")
