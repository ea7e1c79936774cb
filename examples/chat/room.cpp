// SPDX-License-Identifier: Apache-2.0
#include "room.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace chat {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t history_max = 50;
constexpr auto linger_time = 10min;

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(troupe::wall_clock::now().time_since_epoch()).count();
}

}  // namespace

void room::on(enter m) {
  const auto same_name = [&](const person& each) { return each.name == m.name; };
  if (std::any_of(people_.begin(), people_.end(), same_name)) {
    m.member.send(turned_away{"the name \"" + m.name + "\" is taken in this room"});
    return;
  }
  linger_.cancel();
  tell_everybody(arrived(m.name));
  const troupe::address who = m.member.address();
  watch(who);
  people_.push_back({who, m.name, m.client});

  std::vector<std::string> names;
  for (const person& each : people_) names.push_back(each.name);
  std::sort(names.begin(), names.end());
  // The member first, because its client may speak as soon as it gets `joined`.
  m.member.send(entered{self(this)});
  m.client.send(joined(name_, m.name, names, {history_.begin(), history_.end()}));
}

void room::on(const say& m, troupe::address who) {
  const auto speaker = find(who);
  if (speaker == people_.end()) return;  // it has already left
  history_.push_back({next_id_++, speaker->name, m.text, now_ms()});
  if (history_.size() > history_max) history_.pop_front();
  tell_everybody(said(history_.back()));
}

void room::on(leave, troupe::address who) { remove(who); }

void room::on(const troupe::down& m) { remove(m.who); }

void room::remove(troupe::address who) {
  const auto gone = find(who);
  if (gone == people_.end()) return;  // it left before its connection closed
  const event last = left(gone->name);
  people_.erase(gone);
  tell_everybody(last);
  if (people_.empty()) linger_ = self(this).send_after(linger_time, nobody_came{});
}

std::vector<room::person>::iterator room::find(const troupe::address& who) {
  return std::find_if(people_.begin(), people_.end(),
                      [&](const person& each) { return each.who == who; });
}

void room::tell_everybody(const event& e) const {
  // The server closes a client that reads too slowly, and its member's `down` removes it.
  for (const person& each : people_) each.client.send(e);
}

}  // namespace chat
