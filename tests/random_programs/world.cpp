// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include <troupe/message/type_name.hpp>

namespace troupe::random_programs {

namespace {

world* the_one = nullptr;

constexpr std::array<const char*, 11> fates{"none",    "handled",       "dead",     "refused",
                                            "dropped", "ignored",       "unsent",   "torn",
                                            "failed",  "gone with end", "cancelled"};
constexpr std::array<const char*, kinds> kind_names{"parcel",  "urgent",  "heavy", "limited",
                                                    "fragile", "item",    "tick",  "note",
                                                    "chirp",   "request", "other"};

}  // namespace

const char* to_string(fate f) noexcept { return fates[static_cast<std::size_t>(f)]; }

// ── Messages and values ───────────────────────────────────────────────────────────────────────

token::token(int id) noexcept : id_(id) {}
token::token(const token& other) : id_(other.id_) {
  if (id_ >= 0) world::here().copied(id_);
}
token::~token() {
  if (id_ >= 0) world::here().destroyed(id_);
}
void token::before_move(int moves_left) const {
  if (id_ < 0 || moves_left > 0) return;
  world& w = world::here();
  letter& mine = w.letter_at(id_);
  mine.has_thrown = true;
  w.happens(mine.was_taken ? mine.to : mine.from, feature::move_throws);
  throw on_purpose();
}

bead::bead(int number) noexcept : number_(number) { ++world::here().beads; }
bead::bead(bead&& other) noexcept : number_(other.number_) { ++world::here().beads; }
bead::~bead() { --world::here().beads; }

// ── The world ─────────────────────────────────────────────────────────────────────────────────

world::world(sim::simulation& in) : sim(in) { the_one = this; }
world::~world() {
  channels.clear();  // the values count themselves
  the_one = nullptr;
}
world& world::here() noexcept { return *the_one; }

void world::broken(const std::string& what) {
  if (!broken_.empty()) return;
  broken_ = what;
  log("BROKEN: " + what);
}

void world::throw_if_broken() const {
  if (!broken_.empty()) throw std::runtime_error(broken_);
}

void world::log(const std::string& line) {
  if (!verbose) return;
  const double ms = std::chrono::duration<double, std::milli>(sim.now() - time_point{}).count();
  std::fprintf(stderr, "%10.3f ms  %s\n", ms - 86'400'000.0, line.c_str());
}

// ── Actors ────────────────────────────────────────────────────────────────────────────────────

part& world::add_part(shape is) {
  part& fresh = parts_.emplace_back();
  fresh.index = static_cast<int>(parts_.size()) - 1;
  fresh.is = is;
  return fresh;
}

part* world::find(const address& who) noexcept {
  for (part& each : parts_) {
    if (each.where == who) return &each;
  }
  return nullptr;
}

void world::object_made(int index, const address& where) {
  part& p = at(index);
  p.where = where;
  require(p.objects == 0, "an actor has one object at a time");
  require(!p.has_ended, "an actor that has ended gets no other object");
  if (p.fails_first) throw on_purpose();
  if (p.objects_made > 0) {
    happens(p, feature::restarted);
    if (p.constructors_to_fail > 0) {
      --p.constructors_to_fail;
      happens(p, feature::constructor_fails);
      end_subscriptions(p);  // as when an incarnation ends
      log("the constructor of actor " + std::to_string(index) + " fails");
      throw on_purpose();
    }
  }
  ++p.objects;
  ++p.objects_made;
  ++objects_made;
  p.stops_run = 0;
  p.is_locked = false;
  p.exclusive = 0;
  p.behind_exclusive = 0;
}

void world::object_started(int index) {
  part& p = at(index);
  require(p.objects == 1, "an object starts while it is there");
  p.active.next_object_started();
}

void world::object_stops(int index) {
  part& p = at(index);
  require(p.objects == 1, "on_stop() runs while the object is there");
  require(++p.stops_run == 1, "on_stop() runs once for each object");
  if (!p.on_stop_is_to_fail) return;
  p.on_stop_is_to_fail = false;
  happens(p, feature::on_stop_fails);
  log("on_stop() of actor " + std::to_string(index) + " fails");
  throw on_purpose();
}

void world::object_ends(int index) {
  part& p = at(index);
  log("an object of actor " + std::to_string(index) + " ends");
  require(--p.objects == 0, "an object is destroyed once");
  p.is_locked = false;
  ++p.objects_ended;
  p.holds.clear();
  for (watch_entry& each : watches_) {
    if (each.by != index || each.is_closed) continue;
    each.is_closed = true;
    if (each.downs != 0) continue;
    p.active.ends(feature::watches, true);
    at(each.of).active.ends(feature::watched, false);
  }
  for (auto& [name, those] : told_of_names) {
    if (std::erase(those, index) != 0) p.active.ends(feature::awaits_name, true);
  }
  end_subscriptions(p);
  for (timer_entry& each : timers) {
    if (each.from != index || each.to != index || each.is_over || each.is_cancelled) continue;
    // The next incarnation does not get the timers that this one has armed for itself.
    each.is_cancelled = true;
    each.since_cancelled = 1;
    p.active.ends(feature::timed, true);
  }
}

void world::end_subscriptions(part& p) {
  const auto gone = std::erase_if(subscriptions, [&](const auto& s) { return s.first == p.index; });
  for (std::size_t i = 0; i < gone; ++i) p.active.ends(feature::subscribed, true);
}

void world::ended(const address& who, exit_reason why) {
  part* const p = find(who);
  if (p == nullptr) return;
  log("actor " + std::to_string(p->index) + " has ended: " + std::string(troupe::to_string(why)));
  require(!p->has_ended, "an actor ends once");
  require(p->objects == 0, "an actor has ended when its object is destroyed");
  p->has_ended = true;
  p->reason = why;
  if (p->is_supervised && !system->is_stopping() && !p->stops_between &&
      why != exit_reason::link_broken) {
    require(!is_abnormal(why) && !p->is_always_restarted,
            "a child is restarted as its supervisor says");
  }
  end_subscriptions(*p);  // of an actor that waited for its next incarnation
  if (why == exit_reason::unreachable) {
    require(!p->as_player && !p->as_machine && !p->as_function,
            "an actor that is referenced from outside does not end as unreachable");
  }
  for (timer_entry& each : timers) {
    if (each.to != p->index || each.is_over || each.is_cancelled) continue;
    each.is_over = true;
    p->active.ends(feature::timed, false);
  }
  for (auto each = holders.begin(); each != holders.end();) {
    each = each->second == p->index ? holders.erase(each) : std::next(each);
  }
  for (link_entry& each : links_) {
    if (!each.is_open || (each.one != p->index && each.other != p->index)) continue;
    each.is_open = false;
    const int left = each.one == p->index ? each.other : each.one;
    at(each.one).active.ends(feature::linked, false);
    at(each.other).active.ends(feature::linked, false);
    if (at(left).has_ended || at(left).objects == 0) continue;
    const bool is_told = at(left).is == shape::machine;
    if (!is_told && !is_abnormal(why)) continue;
    each.must_end = left;
    each.after = at(left).objects_ended;
  }
}

void world::handles(part& p) {
  require(p.objects == 1, "an actor that has no object handles nothing");
  require(p.exclusive == 0, "nothing is handled while an exclusive handler is suspended");
  ++handlers;
  is_undecided_ = false;
  if (p.behind_exclusive == 2) p.active.counts_as_lasting(feature::exclusive, false);
  p.behind_exclusive = p.behind_exclusive == 1 ? 2 : 0;
  if (p.is_charged) happens(p, feature::charged);
  if (p.is_grouped) happens(p, feature::in_group);
  if (p.is_dispatched) happens(p, feature::on_dispatcher);
  if (p.is == shape::function) happens(p, feature::function);
}

// ── Messages ──────────────────────────────────────────────────────────────────────────────────

kind world::kind_named(std::string_view type) {
  for (const auto& [name, what] : kinds_) {
    if (name == type.data()) return what;
  }
  kind found = kind::other;
  // A machine reports the name without its namespace.
  const auto is = [&](std::string_view name, kind what) {
    if (type == name || type == name.substr(name.rfind(':') + 1)) found = what;
  };
  is(type_name<parcel>(), kind::parcel);
  is(type_name<urgent>(), kind::urgent);
  is(type_name<heavy>(), kind::heavy);
  is(type_name<limited>(), kind::limited);
  is(type_name<fragile>(), kind::fragile);
  is(type_name<item>(), kind::item);
  is(type_name<tick>(), kind::tick);
  is(type_name<note>(), kind::note);
  is(type_name<chirp>(), kind::chirp);
  is(type_name<question>(), kind::request);
  is(type_name<slow_question>(), kind::request);
  is(type_name<later_question>(), kind::request);
  kinds_.emplace_back(type.data(), found);
  return found;
}

namespace {

std::uint64_t order_key(const letter& of, int by) {
  return (static_cast<std::uint64_t>(of.from + 1) << 48) |
         (static_cast<std::uint64_t>(of.to) << 32) | (static_cast<std::uint64_t>(by + 1) << 16) |
         static_cast<std::uint64_t>(of.what);
}

}  // namespace

int world::new_letter(kind what, int from, int to) {
  letter& fresh = letters_.emplace_back();
  fresh.what = what;
  fresh.from = from;
  fresh.to = to;
  fresh.number = ++numbers_[order_key(fresh, -1)];
  fresh.sender_object = from >= 0 ? at(from).objects_ended : 0;
  ++tokens_;
  return static_cast<int>(letters_.size()) - 1;
}

void world::copied(int& id) {
  const letter original = letter_at(id);
  letters_.push_back(original);
  letters_.back().end = fate::none;
  ++tokens_;
  id = static_cast<int>(letters_.size()) - 1;
}

std::string world::describe(const letter& one) const {
  return std::string(kind_names[static_cast<std::size_t>(one.what)]) + " " +
         std::to_string(one.number) + " from " + std::to_string(one.from) + " to " +
         std::to_string(one.to);
}

void world::handled(part& by, const token& id) {
  handles(by);
  if (id.id() < 0) {
    broken("a message is handled that has been moved from");
    return;
  }
  letter& it = letter_at(id.id());
  if (it.end != fate::none)
    broken("handled, and before that " + std::string(to_string(it.end)) + ": " + describe(it));
  it.end = fate::handled;
  if (verbose) log("actor " + std::to_string(by.index) + " handles " + describe(it));
  if (it.to != by.index && at(it.to).redirects_to != by.index) {
    broken("handled by actor " + std::to_string(by.index) + ": " + describe(it));
  }
  if (it.timer >= 0) {
    fired(it.timer, by.index);
  } else if (!it.in_line) {
    int& last = last_[order_key(it, by.index)];
    if (it.number <= last) broken("the messages of one sender come in order: " + describe(it));
    last = it.number;
  }
  if (it.what == kind::urgent) happens(by, feature::high_priority);
  if (it.what == kind::heavy) happens(by, feature::owns_bytes);
  if (it.what == kind::limited) happens(by, feature::type_limit);
}

void world::sent(int id, delivery said) {
  letter& it = letter_at(id);
  it.was_taken = true;
  switch (said) {
    case delivery::accepted:
      break;
    case delivery::paused:
      happens(it.from, feature::is_suspended);
      break;
    case delivery::refused:
      if (it.end != fate::refused && it.end != fate::dead)
        broken("refused, but " + std::string(to_string(it.end)) + ": " + describe(it));
      return;
    case delivery::dropped:
      if (it.end != fate::dropped)
        broken("dropped, but " + std::string(to_string(it.end)) + ": " + describe(it));
      return;
  }
  if (it.end == fate::refused) broken("accepted, but refused: " + describe(it));
}

bool world::is_locked(int index) noexcept { return index >= 0 && at(index).is_locked; }

void world::destroyed(int id) noexcept {
  --tokens_;
  is_undecided_ = false;  // the previous message: its notification would have come at once
  letter& it = letter_at(id);
  if (it.end != fate::none) return;
  auto& due = expected_[static_cast<std::size_t>(it.what)];
  if (it.has_thrown) {
    it.end = it.was_taken ? fate::torn : fate::unsent;
    return;
  }
  for (const fate each : {fate::dead, fate::refused, fate::dropped}) {
    if (due[static_cast<std::size_t>(each)] == 0) continue;
    --due[static_cast<std::size_t>(each)];
    it.end = each;
    return;
  }
  if (it.timer >= 0) {
    const timer_entry& of = timers[static_cast<std::size_t>(it.timer)];
    if (of.is_cancelled || of.is_over || at(of.to).objects == 0) {
      it.end = fate::cancelled;
      return;
    }
  }
  if (is_deferred(it.what) && (is_locked(it.to) || is_locked(at(it.to).redirects_to))) {
    if (it.in_line && !it.was_taken) {
      is_undecided_ = true;
      it.end = fate::gone_with_end;
      return;
    }
    --due[static_cast<std::size_t>(fate::ignored)];  // on_unhandled() is called after this
    it.end = fate::ignored;
    return;
  }
  if (std::uncaught_exceptions() != 0) {
    it.end = it.was_taken ? fate::failed : fate::unsent;
    return;
  }
  if (it.in_line && it.from >= 0) {
    it.end = fate::gone_with_end;
    return;
  }
  broken("destroyed, and nothing was said about it: " + describe(it));
}

void world::published(kind what, const publication& became) {
  published_[static_cast<std::size_t>(what)] +=
      static_cast<std::int64_t>(became.accepted + became.paused + became.refused + became.dropped);
}

void world::heard(part& by, kind what, int publisher, int number) {
  lost(what);
  handles(by);
  log("actor " + std::to_string(by.index) + " hears " + std::to_string(number) + " of " +
      std::to_string(publisher));
  if (by.is_target) return;
  // With drop_oldest, a message replaces one that was dropped, before a retained one.
  if (by.policy == overflow::policy::drop_oldest && what == kind::note) return;
  letter key;
  key.what = what;
  key.from = publisher;
  key.to = by.index;
  int& last = last_[order_key(key, by.index)];
  if (number < last)
    broken("what one publishes comes in order: " + std::to_string(number) + " behind " +
           std::to_string(last));
  last = number;
}

void world::received(int bead) {
  if (received_.size() <= static_cast<std::size_t>(bead)) {
    received_.resize(static_cast<std::size_t>(bead) + 64);
  }
  require(!received_[static_cast<std::size_t>(bead)], "a value of a channel is received once");
  received_[static_cast<std::size_t>(bead)] = true;
}

// ── Monitors, links, timers ───────────────────────────────────────────────────────────────────

void world::watched(int by, int of, bool by_address, const troupe::monitor& which) {
  watch_entry& fresh = watches_.emplace_back();
  fresh.by = by;
  fresh.of = of;
  fresh.by_address = by_address;
  fresh.monitor = which;
  at(by).active.begins(feature::watches, seen);
  at(of).active.begins(feature::watched, seen);
}

void world::unwatched(int by, const std::function<bool(const troupe::monitor&)>& unwatch) {
  for (auto each = watches_.rbegin(); each != watches_.rend(); ++each) {
    if (each->by != by || each->is_closed) continue;
    const bool was_open = unwatch(each->monitor);
    require(was_open == (each->downs == 0), "unwatch() says whether the watch was over");
    if (was_open) {
      happens(by, feature::unwatches);
      at(by).active.ends(feature::watches, false);
      at(each->of).active.ends(feature::watched, false);
    }
    each->is_closed = true;
    return;
  }
}

void world::told(int by, const down& d) {
  handles(at(by));
  for (watch_entry& each : watches_) {
    if (each.by != by || each.monitor != d.monitor) continue;
    require(!each.is_closed,
            "no `down` comes of a watch that was taken back, or of another object's");
    require(++each.downs == 1, "a watch has one `down`");
    const part& of = at(each.of);
    require(of.has_ended, "a `down` comes of an actor that has ended");
    require(d.reason == of.reason || (each.by_address && d.reason == exit_reason::unknown),
            "a `down` says why the actor has ended");
    require(d.who == of.where, "a `down` says who has ended");
    at(by).active.ends(feature::watches, false);
    at(each.of).active.ends(feature::watched, false);
    return;
  }
  broken("a `down` comes of no watch");
}

void world::linked(int one, int other, bool by_address) {
  for (const link_entry& each : links_) {
    if (each.is_open &&
        ((each.one == one && each.other == other) || (each.one == other && each.other == one))) {
      return;
    }
  }
  if (at(other).has_ended || by_address) return;
  link_entry& fresh = links_.emplace_back();
  fresh.one = one;
  fresh.other = other;
  at(one).active.begins(feature::linked, seen);
  at(other).active.begins(feature::linked, seen);
}

void world::unlinked(int one, int other) {
  for (link_entry& each : links_) {
    if (!((each.one == one && each.other == other) || (each.one == other && each.other == one)))
      continue;
    if (each.must_end == one) each.must_end = -1;
    if (!each.is_open) continue;
    each.is_open = false;
    at(one).active.ends(feature::linked, false);
    at(other).active.ends(feature::linked, false);
  }
}

void world::told(int by, const link_down& d) {
  handles(at(by));
  for (link_entry& each : links_) {
    if (each.must_end != by || each.told != 0) continue;
    const int gone = each.one == by ? each.other : each.one;
    if (at(gone).where != d.who) continue;
    require(d.reason == at(gone).reason, "a link_down says why the actor has ended");
    each.told = 1;
    return;
  }
}

void world::fired(int timer, int to) {
  timer_entry& of = timers[static_cast<std::size_t>(timer)];
  if (of.to != to && at(of.to).redirects_to != to) broken("a tick comes to another actor");
  require(clock::now() >= of.due, "a timer is never early");
  if (of.is_cancelled) {
    require(of.repeats && ++of.since_cancelled == 1, "nothing of a cancelled timer arrives");
    return;
  }
  if (of.repeats || of.is_over) return;
  of.is_over = true;
  at(of.to).active.ends(feature::timed, false);
}

// A tick of send_every() that is already in the mailbox may still arrive, unless the receiver
// cancels.
void world::cancel(int timer, int by) {
  timer_entry& of = timers[static_cast<std::size_t>(timer)];
  if (of.is_cancelled) return;
  const bool before = of.is_over;
  // Ticks that cancel() destroys count as cancelled.
  of.is_cancelled = true;
  const bool did = of.handle.cancel();
  require(!(did && before), "a timer that is over is not cancelled");
  if (!did) of.is_cancelled = false;
  if (!did || before) return;
  log("timer " + std::to_string(timer) + " is cancelled");
  if (by == of.to) of.since_cancelled = 1;
  if (!at(of.to).has_ended) happens(of.to, feature::timer_cancelled);
  at(of.to).active.ends(feature::timed, false);
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────

pending::pending(int by, int of, duration limit, int value, bool calls_back)
    : by_(by), of_(of), value_(value), until_(clock::now() + limit), calls_back_(calls_back) {
  world& w = world::here();
  ++w.asked;
  ++w.asking;
  ended_before_ = w.at(of).objects_ended;
  failures_before_ = w.at(of).failures;
  not_taken_before_ = w.requests_not_taken;
  let_go_before_ = w.replies_let_go;
  if (by_ < 0) return;
  own_failures_before_ = w.at(by_).failures;
  w.at(by_).active.begins(feature::asks, w.seen);
}

pending::pending(pending&& other) noexcept
    : by_(other.by_),
      of_(other.of_),
      value_(other.value_),
      until_(other.until_),
      calls_back_(other.calls_back_),
      ended_before_(other.ended_before_),
      failures_before_(other.failures_before_),
      own_failures_before_(other.own_failures_before_),
      not_taken_before_(other.not_taken_before_),
      let_go_before_(other.let_go_before_),
      is_open_(std::exchange(other.is_open_, false)) {}

pending::~pending() {
  if (!is_open_) return;
  world& w = world::here();
  --w.asking;
  ++w.given_up;
  if (by_ < 0) return;
  w.require(!calls_back_ || w.at(by_).failures != own_failures_before_,
            "a callback is called unless its actor fails");
  w.at(by_).active.ends(feature::asks, true);
}

void pending::none() noexcept {
  if (!is_open_) return;
  is_open_ = false;
  world& w = world::here();
  --w.asking;
  ++w.given_up;
  if (by_ >= 0) w.at(by_).active.ends(feature::asks, false);
}

void pending::result(const ask_result<int>& got) {
  world& w = world::here();
  w.require(is_open_, "a request has one result");
  if (!is_open_) return;
  is_open_ = false;
  --w.asking;
  ++w.results;
  if (by_ >= 0) w.at(by_).active.ends(feature::asks, false);
  if (got) {
    w.require(*got == value_ + 1, "a reply belongs to its request");
    return;
  }
  const part& of = w.at(of_);
  const bool elsewhere = of.redirects_to >= 0;
  switch (got.error()) {
    case ask_error::timeout:
      w.require(clock::now() >= until_, "a request does not time out early");
      break;
    case ask_error::stopped:
      w.require(elsewhere || calls_back_ || of.has_ended || of.objects_ended != ended_before_,
                "a request is stopped because an actor ends");
      break;
    case ask_error::failed:
      w.require(elsewhere || of.failures != failures_before_ || of.has_ended ||
                    of.objects_ended != ended_before_,
                "a request fails because its actor does");
      break;
    case ask_error::refused:
      w.require(w.requests_not_taken != not_taken_before_,
                "a request is refused because of a limit");
      break;
    case ask_error::unanswered:
      w.require(w.replies_let_go != let_go_before_,
                "a request is unanswered because of its handler");
      break;
  }
}

// ── The end of a run ──────────────────────────────────────────────────────────────────────────

// Actors that are not reachable from any holder, directly or through others, have been collected.
void world::check_reachable() {
  std::vector<bool> seen_part(parts_.size(), false);
  std::vector<int> open;
  const auto mark = [&](int index) {
    if (!seen_part[static_cast<std::size_t>(index)]) open.push_back(index);
    seen_part[static_cast<std::size_t>(index)] = true;
  };
  for (const part& each : parts_) {
    if (each.as_player || each.as_machine || each.as_function || each.is_supervised ||
        each.is_target) {
      mark(each.index);
    }
  }
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (at(next).has_ended) continue;
    for (const int each : at(next).holds) mark(each);
  }
  for (const part& each : parts_) {
    if (each.has_ended || each.objects == 0 || seen_part[static_cast<std::size_t>(each.index)])
      continue;
    broken("actor " + std::to_string(each.index) + " is held by nobody, and lives");
  }
}

void world::settled() {
  const statistics now = system->statistics();
  require(now.messages_waiting == 0, "no message waits");
  require(now.message_bytes_waiting == 0, "no bytes wait");
  require(now.senders_paused == 0, "no sender is suspended");
  require(now.handlers_waiting == 0, "no handler waits in async_send()");
  require(now.overdraft_bytes == 0, "the overdraft is given back");
  // A supervisor may still have the timer of its own that checks its children.
  require(now.timers_armed <= supervisors, "no timer is armed");
  require(asking == 0, "each request has its result");
  for (const budget& each : budgets) require(each.used() == 0, "the budgets are given back");
  for (const watch_entry& each : watches_) {
    if (each.is_closed) continue;
    require((each.downs == 1) == at(each.of).has_ended,
            "each watch of an actor that has ended has its `down`");
  }
  for (const link_entry& each : links_) {
    if (each.must_end < 0) continue;
    const part& left = at(each.must_end);
    require(left.has_ended || left.objects_ended > each.after || each.told == 1,
            "a link takes effect");
  }
  for (const auto& [name, holder] : holders) {
    require(registry(*system).find_address(name) == at(holder).where, "a name has its holder");
  }
  check_reachable();
}

void world::finished() {
  require(tokens_ == 0, "all messages are destroyed");
  require(beads == 0, "all values of channels are destroyed");
  require(asking == 0 && asked == results + given_up, "each request is over");
  for (const letter& each : letters_) {
    if (each.end == fate::none) broken("nothing became of " + describe(each));
  }
  for (std::size_t k = 0; k < kinds; ++k) {
    for (std::size_t f = 0; f < fates.size(); ++f) {
      if (k < letter_kinds && expected_[k][f] != 0) {
        broken(std::string("a ") + kind_names[k] + " was said to be " + fates[f] + ", and was not");
      }
    }
  }
  for (const kind each : {kind::note, kind::chirp}) {
    const auto k = static_cast<std::size_t>(each);
    if (published_[k] != heard_[k]) {
      broken(std::to_string(published_[k]) + " were published of " + kind_names[k] + ", and " +
             std::to_string(heard_[k]) + " are accounted for");
    }
  }
  for (const part& each : parts_) {
    require(each.objects == 0, "all objects are destroyed");
    require(each.has_ended || each.objects_made == 0, "all actors have ended");
    require(each.objects_made == each.objects_ended, "each object is destroyed once");
  }
}

}  // namespace troupe::random_programs
