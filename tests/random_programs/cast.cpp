// SPDX-License-Identifier: Apache-2.0
#include "cast.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace troupe::random_programs {

using namespace std::chrono_literals;

namespace {

constexpr std::array<const char*, operation_count> operation_names{"nothing",
                                                                   "send_parcels",
                                                                   "send_urgent",
                                                                   "send_heavy",
                                                                   "send_limited",
                                                                   "send_fragile",
                                                                   "send_items",
                                                                   "stop",
                                                                   "stop_now",
                                                                   "add_name",
                                                                   "remove_name",
                                                                   "find_name",
                                                                   "tell_name",
                                                                   "subscribe",
                                                                   "unsubscribe",
                                                                   "publish",
                                                                   "arm_timer",
                                                                   "arm_ticks",
                                                                   "cancel_timer",
                                                                   "ask_and_get",
                                                                   "send_to_channel",
                                                                   "receive_from_channel",
                                                                   "lock",
                                                                   "spawn",
                                                                   "fail",
                                                                   "fail_constructor",
                                                                   "fail_on_stop",
                                                                   "watch",
                                                                   "watch_address",
                                                                   "unwatch",
                                                                   "link",
                                                                   "unlink",
                                                                   "ask_then",
                                                                   "hold",
                                                                   "let_go",
                                                                   "reply_now",
                                                                   "drop_reply",
                                                                   "change_state",
                                                                   "sleep",
                                                                   "ask",
                                                                   "send_ready",
                                                                   "next_of_channel",
                                                                   "send_ready_to_channel",
                                                                   "select",
                                                                   "await_end",
                                                                   "await_name",
                                                                   "advance",
                                                                   "run",
                                                                   "collect",
                                                                   "drop_reference",
                                                                   "close_channel"};

class walking;

/// The executor of operations from outside.
struct outsider {
  static constexpr bool is_actor = false;
  [[nodiscard]] int index() const noexcept { return -1; }
  [[nodiscard]] troupe::system& system() const noexcept { return *world::here().system; }
};

template <class Handle>
inline constexpr bool is_ref = false;
template <class A>
inline constexpr bool is_ref<ref<A>> = true;

template <class Handle, class M>
inline constexpr bool takes = false;
template <class A, class M>
inline constexpr bool takes<ref<A>, M> = understands<A, M>;
template <class... Ms, class M>
inline constexpr bool takes<recipient<Ms...>, M> = (std::same_as<Ms, M> || ...);

std::string name_of(int number) { return "name" + std::to_string(number % 3); }
duration some_time(int number) { return std::chrono::microseconds(200 + number % 40 * 250); }

ref<player> lock_player(part& p) {
  if (p.is != shape::player) return {};
  ref<player> locked = p.weak_player.lock();
  if (locked) {
    world::here().require(!p.has_ended, "an actor that has ended cannot be locked");
    world::here().happens(p, feature::locked);
  }
  return locked;
}
ref<machine> lock_machine(part& p) {
  if (p.is != shape::machine) return {};
  ref<machine> locked = p.weak_machine.lock();
  if (locked) {
    world::here().require(!p.has_ended, "an actor that has ended cannot be locked");
    world::here().happens(p, feature::locked);
  }
  return locked;
}

/// Calls f with the handle of that actor; returns false if it has none.
template <class F>
bool with(int other, F&& f) {
  part& p = world::here().at(other);
  if (const ref<player> locked = lock_player(p)) return f(locked), true;
  if (const ref<machine> locked = lock_machine(p)) return f(locked), true;
  if (p.is == shape::function && p.as_function) {
    const walker_handle held = p.as_function;
    return f(held), true;
  }
  return false;
}

// ── Immediate operations ──────────────────────────────────────────────────────────────────────

template <class M>
M build(int id, int number) {
  if constexpr (std::same_as<M, fragile>) {
    return fragile(token(id), number % 4);
  } else if constexpr (std::same_as<M, heavy>) {
    return heavy{token(id), std::string(static_cast<std::size_t>(40 + number % 8 * 16), 'x')};
  } else {
    return M{token(id)};
  }
}

template <class M, class Me>
void send_letters(const Me& me, int to, int number, int count) {
  with(to, [&](const auto& h) {
    if constexpr (takes<std::remove_cvref_t<decltype(h)>, M>) {
      world& w = world::here();
      for (int i = 0; i < count; ++i) {
        const int id = w.new_letter(world::kind_of<M>(), me.index(), to);
        try {
          M m = build<M>(id, number + i);
          const delivery said = h.send(std::move(m));
          w.sent(id, said);
        } catch (const on_purpose&) {
          // The message was not sent.
        }
      }
    }
  });
}

template <class Me>
void arm(const Me& me, int to, int number, bool repeats) {
  with(to, [&](const auto& h) {
    world& w = world::here();
    part& p = w.at(to);
    const int id = w.new_letter(kind::tick, me.index(), to);
    const auto at = w.timers.size();
    w.letter_at(id).timer = static_cast<int>(at);
    const duration time = some_time(number);
    timer_entry& fresh = w.timers.emplace_back();
    fresh.from = me.index();
    fresh.to = to;
    fresh.repeats = repeats;
    fresh.is_over = p.has_ended;
    fresh.due = clock::now() + time;
    if (!p.has_ended) p.active.begins(feature::timed, w.seen);
    tick m{token(id)};
    timer armed;
    if constexpr (is_ref<std::remove_cvref_t<decltype(h)>>) {
      armed = repeats ? h.send_every(time, std::move(m)) : h.send_after(time, std::move(m));
    } else {
      armed = h.send_after(time, std::move(m));
    }
    w.timers[at].handle = armed;
  });
}

template <class Me>
void cancel_one(const Me& me, int of) {
  world& w = world::here();
  for (std::size_t i = w.timers.size(); i > 0; --i) {
    const timer_entry& each = w.timers[i - 1];
    if (each.to != of || each.is_cancelled || each.is_over) continue;
    w.cancel(static_cast<int>(i - 1), me.index());
    return;
  }
}

void note_end(int of, feature what) {
  world& w = world::here();
  if (!w.at(of).has_ended) w.happens(of, what);
}

template <class Me>
void use_names(const Me& me, operation what, int other, int number) {
  world& w = world::here();
  if (w.system->is_stopping()) return;
  const std::string name = name_of(number);
  const registry all(me.system());
  const auto holder = w.holders.find(name);
  const int had = holder != w.holders.end() ? holder->second : -1;
  switch (what) {
    case operation::add_name:
      with(other, [&](const auto& h) {
        if constexpr (is_ref<std::remove_cvref_t<decltype(h)>>) {
          switch (all.add(name, h).what) {
            case registration::outcome::registered:
              w.require(had < 0 || had == other, "a name has one holder at a time");
              if (had < 0) {
                w.holders[name] = other;
                w.at(other).active.begins(feature::named, w.seen);
              }
              break;
            case registration::outcome::taken:
              w.require(had >= 0 && had != other, "a name that is taken has a holder");
              break;
            case registration::outcome::ended:
              w.require(w.at(other).has_ended || w.at(other).objects == 0,
                        "an actor that lives is given a name");
              break;
          }
        }
      });
      break;
    case operation::remove_name: {
      const bool did = all.remove(name, w.at(other).where);
      w.require(did == (had == other), "a name is taken away from its holder alone");
      if (did) {
        w.holders.erase(name);
        w.at(other).active.ends(feature::named, false);
      }
      break;
    }
    case operation::find_name: {
      const auto found = all.find<player>(name);
      if (found) {
        w.require(had >= 0 && address(*found) == w.at(had).where, "a name gives its holder");
      } else if (found.why() == not_found::another_type) {
        w.require(had >= 0 && w.at(had).is == shape::machine, "the holder is of another class");
      }
      break;
    }
    default:  // tell_name
      with(other, [&](const auto& h) {
        if constexpr (is_ref<std::remove_cvref_t<decltype(h)>>) {
          part& p = w.at(other);
          auto& those = w.told_of_names[name];
          if (p.objects == 1 && std::find(those.begin(), those.end(), other) == those.end()) {
            those.push_back(other);
            p.active.begins(feature::awaits_name, w.seen);
          }
          all.notify_on_register(name, h);
        }
      });
      break;
  }
}

void subscribe(int other, int number) {
  world& w = world::here();
  with(other, [&](const auto& h) {
    if constexpr (is_ref<std::remove_cvref_t<decltype(h)>>) {
      const bool is_note = number % 2 == 0;
      const bool gets_last = is_note && w.has_retained;
      const subscription fresh = is_note ? w.notes->subscribe(h) : w.chirps->subscribe(h);
      if (!fresh) return;
      if (gets_last) w.published(kind::note, {.accepted = 1});
      w.subscriptions.emplace_back(other, fresh);
      w.at(other).active.begins(feature::subscribed, w.seen);
    }
  });
}

void unsubscribe(int other) {
  world& w = world::here();
  for (auto each = w.subscriptions.begin(); each != w.subscriptions.end(); ++each) {
    if (each->first != other) continue;
    w.require(each->second.unsubscribe(), "a subscription lasts until it is ended");
    w.subscriptions.erase(each);
    w.at(other).active.ends(feature::subscribed, false);
    return;
  }
}

template <class Me>
void publish(const Me& me, int number) {
  world& w = world::here();
  w.happens(me.index(), feature::publishes);
  const int fresh = ++w.topic_numbers;
  publication became;
  if (number % 2 == 0) {
    w.has_retained = true;
    became = w.notes->publish(note{me.index(), fresh});
    w.published(kind::note, became);
  } else {
    became = w.chirps->publish(chirp{me.index(), fresh});
    w.published(kind::chirp, became);
  }
  if (became.paused != 0) w.happens(me.index(), feature::is_suspended);
}

/// Makes the request that `number` selects, and passes the asking and the value to f.
template <class F>
void with_request(int other, int number, duration limit, F&& f) {
  with(other, [&](const auto& h) {
    if constexpr (is_ref<std::remove_cvref_t<decltype(h)>>) {
      world& w = world::here();
      const int value = static_cast<int>(w.asked) * 16 + (number / 4) % 16;
      switch (number % 3) {
        case 0:
          return f(value, [&] { return h.template ask<question>(limit, value); });
        case 1:
          return f(value, [&] { return h.template ask<slow_question>(limit, value); });
        default:
          return f(value, [&] { return h.template ask<later_question>(limit, value); });
      }
    }
  });
}

template <class Me>
void ask_and_get(const Me& me, int other, int number) {
  if (me.index() == other) return;
  const duration limit = some_time(number);
  with_request(other, number, limit, [&](int value, auto ask) {
    pending one(me.index(), other, limit, value);
    try {
      auto asking = ask();
      one.result(asking.get());
    } catch (const std::logic_error&) {
      one.none();  // it could not complete, for example because the responder is a member of the
                   // same group
    }
  });
}

template <class Me>
void spawn_child(Me& me, int number) {
  world& w = world::here();
  if (w.parts().size() >= 20) return;
  part& p = w.add_part(shape::player);
  p.fails_first = number % 5 == 4;
  try {
    spawn_options options;
    if (number % 3 == 1) options.max_messages = p.max_messages = 3;
    const ref<player> child = me.system().template spawn<player>(options, p.index);
    w.happens(me.index(), feature::spawns);
    if constexpr (requires { me.holds; }) {
      me.holds.players.push_back(child);
      w.at(me.index()).holds.push_back(p.index);
    } else {
      p.as_player = child;
    }
  } catch (const on_purpose&) {
    w.require(p.fails_first, "spawn() throws what the constructor has thrown");
    p.has_ended = true;
    p.reason = exit_reason::failed;
  }
}

template <class Me>
void hold_one(Me& me, int other) {
  if constexpr (requires { me.holds; }) {
    with(other, [&](const auto& h) {
      using handle = std::remove_cvref_t<decltype(h)>;
      if constexpr (std::same_as<handle, ref<player>>) {
        me.holds.players.push_back(h);
        world::here().at(me.index()).holds.push_back(other);
      } else if constexpr (std::same_as<handle, ref<machine>>) {
        me.holds.machines.push_back(h);
        world::here().at(me.index()).holds.push_back(other);
      }
    });
  }
}

template <class Me>
void reply_to_all(Me& me, bool lets_go) {
  if constexpr (requires { me.owed; }) {
    auto those = std::exchange(me.owed, {});
    for (auto& [value, owed] : those) {
      if (lets_go) {
        ++world::here().replies_let_go;
        owed = {};
      } else {
        owed.set_value(value + 1);
      }
    }
  }
}

template <class Me>
void watch_one(Me& me, int other, bool by_address) {
  if (me.index() == other) return;
  world& w = world::here();
  if (by_address) {
    const address whom = w.at(other).where;
    if (whom == address{}) return;
    w.watched(me.index(), other, true, me.watch(whom));
  } else {
    with(other, [&](const auto& h) { w.watched(me.index(), other, false, me.watch(h)); });
  }
}

template <class Me>
void do_at_once(Me& me, const order& a) {
  world& w = world::here();
  const auto what = static_cast<operation>(a.what);
  const int other = a.other;
  const int number = a.number;
  w.log((me.index() < 0 ? std::string("outside: ") : "actor " + std::to_string(me.index()) + ": ") +
        to_string(what) + " " + std::to_string(other) + " " + std::to_string(number));
  switch (what) {
    case operation::send_parcels:
      return send_letters<parcel>(me, other, number, 1 + number % 8);
    case operation::send_urgent:
      return send_letters<urgent>(me, other, number, 1 + number % 3);
    case operation::send_heavy:
      return send_letters<heavy>(me, other, number, 1 + number % 4);
    case operation::send_limited:
      return send_letters<limited>(me, other, number, 1 + number % 4);
    case operation::send_fragile:
      return send_letters<fragile>(me, other, number, 1);
    case operation::send_items:
      return send_letters<item>(me, other, number, 1 + number % 6);
    case operation::stop:
      note_end(other, feature::stopped);
      with(other, [](const auto& h) { h.stop(); });
      return;
    case operation::stop_now:
      note_end(other, feature::stopped_now);
      if (w.at(other).objects == 0) w.at(other).stops_between = true;
      with(other, [](const auto& h) { h.stop_now(); });
      return;
    case operation::add_name:
    case operation::remove_name:
    case operation::find_name:
    case operation::tell_name:
      return use_names(me, what, other, number);
    case operation::subscribe:
      return subscribe(other, number);
    case operation::unsubscribe:
      return unsubscribe(other);
    case operation::publish:
      return publish(me, number);
    case operation::arm_timer:
      return arm(me, other, number, false);
    case operation::arm_ticks:
      return arm(me, other, number, w.at(other).is != shape::function);
    case operation::cancel_timer:
      return cancel_one(me, other);
    case operation::ask_and_get:
      return ask_and_get(me, other, number);
    case operation::send_to_channel:
      (void)w.channels[static_cast<std::size_t>(number) % 2].try_send(bead(++w.beads_made));
      return;
    case operation::receive_from_channel:
      if (auto got = w.channels[static_cast<std::size_t>(number) % 2].try_receive()) {
        w.received(got->number());
      }
      return;
    case operation::lock:
      with(other, [](const auto&) {});
      return;
    case operation::spawn:
      return spawn_child(me, number);
    default:
      break;
  }
  if constexpr (Me::is_actor) {
    part& p = w.at(me.index());
    switch (what) {
      case operation::fail:
        throw on_purpose();
      case operation::fail_constructor:
        if (p.is_supervised) {
          p.constructors_to_fail = 1 + number % 2;
          throw on_purpose();
        }
        return;
      case operation::fail_on_stop:
        p.on_stop_is_to_fail = true;
        with(me.index(), [](const auto& h) { h.stop(); });
        return;
      case operation::watch:
        return watch_one(me, other, false);
      case operation::watch_address:
        return watch_one(me, other, true);
      case operation::unwatch:
        return w.unwatched(me.index(),
                           [&](const troupe::monitor& which) { return me.unwatch(which); });
      case operation::link:
        if (me.index() == other) return;
        with(other, [&](const auto& h) {
          w.linked(me.index(), other, false);
          me.link(h);
        });
        return;
      case operation::unlink:
        if (me.index() == other) return;
        w.unlinked(me.index(), other);
        me.unlink(w.at(other).where);
        return;
      case operation::ask_then: {
        const duration limit = some_time(number);
        with_request(other, number, limit, [&](int value, auto ask) {
          pending one(me.index(), other, limit, value, true);
          ask().then(
              [one = std::move(one)](const ask_result<int>& got) mutable { one.result(got); });
        });
        return;
      }
      case operation::hold:
        return hold_one(me, other);
      case operation::let_go:
        if constexpr (requires { me.holds; }) {
          p.holds.clear();
          const held gone = std::exchange(me.holds, {});
        }
        return;
      case operation::reply_now:
        return reply_to_all(me, false);
      case operation::drop_reply:
        return reply_to_all(me, true);
      case operation::change_state:
        if constexpr (std::same_as<Me, machine>) {
          with(me.index(), [](const auto& h) {
            if constexpr (takes<std::remove_cvref_t<decltype(h)>, flip>) (void)h.send(flip{});
          });
        }
        return;
      default:
        return;
    }
  }
}

// ── Operations in a handler that is a coroutine ───────────────────────────────────────────────

template <class Me>
void goes_on(const Me& me) {
  if constexpr (std::same_as<Me, walking>) world::here().happens(me.index(), feature::function);
}

template <class M, class Me, class Handle>
task<> send_ready(Me& me, Handle h, int to, int number) {
  if constexpr (takes<Handle, M>) {
    world& w = world::here();
    const int id = w.new_letter(world::kind_of<M>(), me.index(), to);
    w.letter_at(id).in_line = true;
    M m = build<M>(id, number);
    lasting in_line(me.index(), feature::sends_when_ready);
    const delivery said = co_await h.template async_send<M>(std::move(m));
    goes_on(me);
    in_line.over();
    w.sent(id, said);
  }
  co_return;
}

template <class Me, class Handle>
task<> ask_one(Me& me, Handle h, int other, int number) {
  world& w = world::here();
  const duration limit = some_time(number);
  const int value = static_cast<int>(w.asked) * 16 + (number / 4) % 16;
  pending one(me.index(), other, limit, value);
  if (number % 3 == 0) {
    const auto got = co_await h.template ask<question>(limit, value);
    one.result(got);
  } else if (number % 3 == 1) {
    const auto got = co_await h.template ask<slow_question>(limit, value);
    one.result(got);
  } else {
    const auto got = co_await h.template ask<later_question>(limit, value);
    one.result(got);
  }
}

template <class Me, class Handle>
task<> await_end(Me& me, Handle h, int other, int number) {
  lasting waits(me.index(), feature::awaits_end);
  const std::optional<down> got = co_await end_of(h, some_time(number));
  goes_on(me);
  waits.over();
  if (got) {
    world::here().require(world::here().at(other).has_ended, "end_of() waits for the end");
  }
}

/// Calls a coroutine with the handle of that actor.
template <class F>
task<> with_handle(int other, F f) {
  part& p = world::here().at(other);
  if (ref<player> locked = lock_player(p)) {
    co_await f(std::move(locked));
  } else if (ref<machine> its = lock_machine(p)) {
    co_await f(std::move(its));
  } else if (p.is == shape::function && p.as_function) {
    walker_handle held = p.as_function;
    co_await f(std::move(held));
  }
}

template <class Me>
task<> use_channel(Me& me, operation what, int number) {
  world& w = world::here();
  channel<bead> first = w.channels[static_cast<std::size_t>(number) % 2];
  channel<bead> second = w.channels[static_cast<std::size_t>(number + 1) % 2];
  const duration limit = some_time(number);
  lasting uses(me.index(), feature::uses_channel);
  if (what == operation::next_of_channel) {
    const auto got = co_await first.next(limit);
    if (got) w.received(got->number());
  } else if (what == operation::send_ready_to_channel) {
    bead fresh(++w.beads_made);
    const auto became = co_await first.template async_send<bead>(limit, std::move(fresh));
    (void)became;
  } else {
    bead fresh(++w.beads_made);
    auto takes_first = from(first, [&w](bead got) { w.received(got.number()); });
    auto gives_second = into(second, std::move(fresh));
    (void)co_await select_when_ready(limit, takes_first, gives_second);
  }
  goes_on(me);
  uses.over();
}

template <class Me>
task<> await_name(Me& me, int number) {
  world& w = world::here();
  const std::string name = name_of(number);
  lasting waits(me.index(), feature::awaits_name);
  const auto found = co_await registry(me.system()).template wait<player>(name, some_time(number));
  goes_on(me);
  waits.over();
  if (found) {
    const auto holder = w.holders.find(name);
    w.require(holder != w.holders.end() && w.at(holder->second).where == address(*found),
              "a name that was waited for gives its holder");
  }
}

/// The rest of a slow operation, in the turn in which it resumes.
template <class Me>
task<> do_slowly(Me& me, order a, feature as) {
  world& w = world::here();
  const auto what = static_cast<operation>(a.what);
  const int other = a.other;
  const int number = a.number;
  w.log("actor " + std::to_string(me.index()) + ": " + to_string(what) + " " +
        std::to_string(other) + " " + std::to_string(number) +
        (as == feature::exclusive ? ", exclusively" : ""));
  lasting waits(me.index(), as);
  switch (what) {
    case operation::sleep:
      co_await sleep_for(some_time(number));
      break;
    case operation::ask:
      co_await with_handle(other, [&me, other, number](auto h) -> task<> {
        if constexpr (is_ref<decltype(h)>) {
          return ask_one(me, std::move(h), other, number);
        } else {
          return []() -> task<> { co_return; }();
        }
      });
      break;
    case operation::send_ready:
      co_await with_handle(other, [&me, other, number](auto h) -> task<> {
        if (number % 3 == 0) return send_ready<heavy>(me, std::move(h), other, number);
        if (number % 3 == 1) return send_ready<limited>(me, std::move(h), other, number);
        return send_ready<parcel>(me, std::move(h), other, number);
      });
      break;
    case operation::next_of_channel:
    case operation::send_ready_to_channel:
    case operation::select:
      co_await use_channel(me, what, number);
      break;
    case operation::await_end:
      if (me.index() != other) {
        co_await with_handle(other, [&me, other, number](auto h) -> task<> {
          return await_end(me, std::move(h), other, number);
        });
      }
      break;
    case operation::await_name:
      co_await await_name(me, number);
      break;
    default:
      break;
  }
  w.require(w.at(me.index()).objects == 1, "a handler goes on while its object is there");
  goes_on(me);
  if (a.then != 0) do_at_once(me, {a.then, other, number});
  waits.over();
}

/// While it exists, an exclusive handler is running or suspended.
struct exclusive_scope {
  explicit exclusive_scope(part& of) : p(of) { ++p.exclusive; }
  exclusive_scope(const exclusive_scope&) = delete;
  exclusive_scope& operator=(const exclusive_scope&) = delete;
  ~exclusive_scope() {
    --p.exclusive;
    p.behind_exclusive = 1;
    p.active.counts_as_lasting(feature::exclusive, true);
  }
  part& p;
};

// ── Message handling of all classes ───────────────────────────────────────────────────────────

template <class Me, class M>
void take(Me& me, const M& m) {
  world& w = world::here();
  w.handled(w.at(me.index()), m.id);
}

template <class Me>
int reply_to(Me& me, const question& q) {
  world& w = world::here();
  w.handles(w.at(me.index()));
  w.happens(me.index(), feature::asked);
  if (q.value % 16 == 15) throw on_purpose();
  return q.value + 1;
}

template <class Me>
task<int> reply_slowly(Me& me, slow_question q) {
  world& w = world::here();
  w.handles(w.at(me.index()));
  w.happens(me.index(), feature::asked);
  lasting waits(me.index(), feature::waits);
  co_await sleep_for(some_time(q.value));
  waits.over();
  co_return q.value + 1;
}

template <class Me>
void reply_later(Me& me, const later_question& q, reply<int> owed) {
  world& w = world::here();
  w.handles(w.at(me.index()));
  w.happens(me.index(), feature::asked);
  if (me.owed.size() == 2) reply_to_all(me, q.value % 2 == 0);
  me.owed.emplace_back(q.value, std::move(owed));
}

template <class Me>
void told_of_name(Me& me, const name_registered& n) {
  world& w = world::here();
  part& p = w.at(me.index());
  w.handles(p);
  if (std::erase(w.told_of_names[n.name], me.index()) != 0) {
    p.active.ends(feature::awaits_name, false);
  }
}

void list(const held& those, int index, reference_visitor& visit) {
  visit(those.players);
  visit(those.machines);
  world::here().happens(index, feature::searched);
}

}  // namespace

const char* to_string(operation what) noexcept {
  return operation_names[static_cast<std::size_t>(what)];
}

void do_outside(order what) {
  outsider me;
  do_at_once(me, what);
}

// ── Players ───────────────────────────────────────────────────────────────────────────────────

player::player(int index) : index_(index) {
  world& w = world::here();
  w.at(index).weak_player = self(this);
  w.object_made(index, actor::self());
}
player::~player() { world::here().object_ends(index_); }
void player::on_start() { world::here().object_started(index_); }
void player::on_stop() { world::here().object_stops(index_); }
void player::references(reference_visitor& visit) const { list(holds, index_, visit); }

void player::on(parcel m) { take(*this, m); }
void player::on(const urgent& m) { take(*this, m); }
void player::on(heavy&& m) {
  const heavy mine = std::move(m);
  take(*this, mine);
}
void player::on(limited m) { take(*this, m); }
void player::on(fragile m) { take(*this, m); }
void player::on(std::span<item> all) {
  if (all.size() > 1) world::here().happens(index_, feature::batch);
  for (const item& each : all) take(*this, each);
}
void player::on(const tick& m) { take(*this, m); }
void player::on(const note& m) {
  world& w = world::here();
  w.heard(w.at(index_), kind::note, m.publisher, m.number);
}
void player::on(chirp m) {
  world& w = world::here();
  w.heard(w.at(index_), kind::chirp, m.publisher, m.number);
}
void player::on(act a) {
  world& w = world::here();
  w.handles(w.at(index_));
  do_at_once(*this, a);
}
task<> player::on(slow a) {
  world& w = world::here();
  w.handles(w.at(index_));
  co_await do_slowly(*this, a, feature::waits);
}
exclusive_task<> player::on(alone a) {
  world& w = world::here();
  w.handles(w.at(index_));
  const exclusive_scope scope(w.at(index_));
  co_await do_slowly(*this, a, feature::exclusive);
}
int player::on(question q) { return reply_to(*this, q); }
task<int> player::on(slow_question q) { return reply_slowly(*this, q); }
void player::on(later_question q, reply<int> its) { reply_later(*this, q, std::move(its)); }
void player::on(const down& d) { world::here().told(index_, d); }
void player::on(const name_registered& n) { told_of_name(*this, n); }

// ── State machines ────────────────────────────────────────────────────────────────────────────

machine::machine(int index) : index_(index) {
  world& w = world::here();
  w.at(index).weak_machine = self(this);
  w.object_made(index, actor::self());
}
machine::~machine() { world::here().object_ends(index_); }
void machine::on_stop() { world::here().object_stops(index_); }
void machine::references(reference_visitor& visit) const { list(holds, index_, visit); }

void machine::on_enter(open) {
  world& w = world::here();
  part& p = w.at(index_);
  if (p.is_locked) w.happens(p, feature::changes_state);
  p.is_locked = false;
  w.object_started(index_);
}
void machine::on_enter(locked) {
  world& w = world::here();
  part& p = w.at(index_);
  p.is_locked = true;
  w.happens(p, feature::changes_state);
}
auto machine::on(open, flip) -> to<locked> {
  world::here().handles(world::here().at(index_));
  return {};
}
auto machine::on(locked, flip) -> to<open> {
  world::here().handles(world::here().at(index_));
  return {};
}
auto machine::on(locked, time_limit) -> to<open> {
  world::here().handles(world::here().at(index_));
  world::here().happens(index_, feature::state_limit);
  return {};
}
void machine::on_unhandled(std::string_view, std::string_view message) {
  world& w = world::here();
  const kind what = w.kind_named(message);
  w.expect(what, fate::ignored);
}

void machine::on(open, parcel m) { take(*this, m); }
void machine::on(open, const urgent& m) { take(*this, m); }
void machine::on(heavy&& m) {
  const heavy mine = std::move(m);
  take(*this, mine);
}
void machine::on(open, limited m) { take(*this, m); }
void machine::on(fragile m) { take(*this, m); }
void machine::on(const tick& m) { take(*this, m); }
void machine::on(const note& m) {
  world& w = world::here();
  w.heard(w.at(index_), kind::note, m.publisher, m.number);
}
void machine::on(chirp m) {
  world& w = world::here();
  w.heard(w.at(index_), kind::chirp, m.publisher, m.number);
}
void machine::on(act a) {
  world& w = world::here();
  w.handles(w.at(index_));
  do_at_once(*this, a);
}
task<> machine::on(slow a) {
  world& w = world::here();
  w.handles(w.at(index_));
  co_await do_slowly(*this, a, feature::waits);
}
exclusive_task<> machine::on(alone a) {
  world& w = world::here();
  w.handles(w.at(index_));
  const exclusive_scope scope(w.at(index_));
  co_await do_slowly(*this, a, feature::exclusive);
}
int machine::on(question q) { return reply_to(*this, q); }
task<int> machine::on(slow_question q) { return reply_slowly(*this, q); }
void machine::on(later_question q, reply<int> its) { reply_later(*this, q, std::move(its)); }
void machine::on(const link_down& d) { world::here().told(index_, d); }
void machine::on(const down& d) { world::here().told(index_, d); }
void machine::on(const name_registered& n) { told_of_name(*this, n); }

// ── Functions ─────────────────────────────────────────────────────────────────────────────────

namespace {

/// While it exists, the object of a function exists.
class presence {
 public:
  explicit presence(int index) noexcept : index_(index) {}
  presence(presence&& other) noexcept : index_(std::exchange(other.index_, -1)) {}
  presence(const presence&) = delete;
  presence& operator=(const presence&) = delete;
  ~presence() {
    if (index_ >= 0 && world::here().at(index_).objects != 0) world::here().object_ends(index_);
  }

 private:
  int index_;
};

/// A function in the form that do_at_once() and do_slowly() expect.
class walking {
 public:
  static constexpr bool is_actor = true;
  walking(context& of, int index) noexcept : of_(of), index_(index) {}
  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] troupe::system& system() const noexcept { return of_.system(); }
  template <class Other>
  troupe::monitor watch(const Other& other) {
    return of_.watch(other);
  }
  bool unwatch(const troupe::monitor& which) { return of_.unwatch(which); }
  template <class Other>
  void link(const Other& other) {
    of_.link(other);
  }
  void unlink(const address& other) noexcept { of_.unlink(other); }

 private:
  context& of_;
  const int index_;
};

struct walker {
  int index;
  presence there;

  task<> operator()(context& self) {
    world& w = world::here();
    w.object_made(index, self.where());
    w.object_started(index);
    walking me(self, index);
    for (int i = 0;; ++i) {
      if (i % 4 == 3) {
        // All other messages wait.
        const auto only = co_await self.receive<urgent, tick>(std::chrono::milliseconds(1));
        if (only) std::visit([&](const auto& m) { take(me, m); }, *only);
      }
      auto got = co_await self.receive<act, slow, parcel, urgent, heavy, fragile, tick, down>();
      if (const auto* const a = std::get_if<act>(&got)) {
        w.handles(w.at(index));
        do_at_once(me, *a);
      } else if (const auto* const s = std::get_if<slow>(&got)) {
        w.handles(w.at(index));
        co_await do_slowly(me, *s, feature::waits);
      } else if (const auto* const d = std::get_if<down>(&got)) {
        w.told(index, *d);
      } else {
        std::visit(
            [&](const auto& m) {
              if constexpr (requires { m.id; }) take(me, m);
            },
            got);
      }
    }
  }
};

}  // namespace

walker_handle spawn_walker(troupe::system& in, const spawn_options& options, int index) {
  return in.spawn<act, slow, parcel, urgent, heavy, fragile, tick, down>(
      options, walker{index, presence(index)});
}

}  // namespace troupe::random_programs
