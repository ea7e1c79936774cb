// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <utility>

namespace troupe::sim {

namespace {

void replace_all(std::string& in, std::string_view what, std::string_view by) {
  for (std::size_t at = in.find(what); at != std::string::npos; at = in.find(what, at)) {
    in.replace(at, what.size(), by);
    at += by.size();
  }
}

// Returns the position after the bracket that closes the first one at or after `from`.
std::size_t end_of_brackets(std::string_view text, std::size_t from, char open, char close) {
  int depth = 0;
  for (std::size_t at = from; at < text.size(); ++at) {
    if (text[at] == open) ++depth;
    if (text[at] == close && --depth == 0) return at + 1;
  }
  return text.size();
}

std::string_view name_of_kind(overload_event::kind what) noexcept {
  switch (what) {
    case overload_event::kind::refused:
      return "refused";
    case overload_event::kind::dropped:
      return "dropped";
    case overload_event::kind::redirected:
      return "redirected";
    case overload_event::kind::paused:
      return "paused the sender of";
    case overload_event::kind::pause_timed_out:
      return "a pause timed out";
    case overload_event::kind::wait_cycle:
      return "resolved a wait cycle at";
    case overload_event::kind::budget_exhausted:
      return "the memory budget is exhausted at";
    case overload_event::kind::overdraft_exhausted:
      return "the overdraft is exhausted at";
  }
  return "?";
}

}  // namespace

std::string normal_name(std::string_view name) {
  std::string text(name);
  // Clang includes the namespace of the function that determines the type's name; GCC does not.
  constexpr std::string_view own = "troupe::";
  for (std::size_t at = 0; (at = text.find(own, at)) != std::string::npos;) {
    const bool is_whole = at == 0 || (std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0 &&
                                      text[at - 1] != '_' && text[at - 1] != ':');
    is_whole ? static_cast<void>(text.erase(at, own.size())) : static_cast<void>(at += own.size());
  }
  replace_all(text, "{anonymous}", "(anonymous namespace)");
  replace_all(text, "> >", ">>");
  // GCC writes <lambda(int)>, Clang writes (lambda at file.cpp:1:2).
  for (std::size_t at = 0; (at = text.find("<lambda(", at)) != std::string::npos;) {
    text.replace(at, end_of_brackets(text, at, '<', '>') - at, "(lambda)");
  }
  for (std::size_t at = 0; (at = text.find("(lambda at ", at)) != std::string::npos; ++at) {
    text.replace(at, end_of_brackets(text, at, '(', ')') - at, "(lambda)");
  }
  return text;
}

const std::string& recorder::name_of(std::string_view type) {
  const auto at = names_.find(type);
  if (at != names_.end()) return at->second;
  return names_.emplace(type, normal_name(type)).first->second;
}

void recorder::write(const address& who, std::string_view actor, std::string_view what,
                     std::string_view more) {
  const std::uint64_t number =
      number_of(detail::address_access::line(who), detail::address_access::generation(who));
  std::string line = time() + '#' + std::to_string(number) + ' ';
  if (!actor.empty()) (line += name_of(actor)) += "  ";
  line += what;
  if (!more.empty()) (line += "  ") += name_of(more);
  keep(std::move(line));
}

void recorder::write(std::string_view whom, std::string_view what) {
  keep(((time() += whom) += "  ") += what);
}

std::string recorder::time() const {
  const long long since =
      std::chrono::nanoseconds(now_.time_since_epoch() - std::chrono::hours(24)).count();
  char text[48];
  std::snprintf(text, sizeof text, "%6lld.%06lld s  ", since / 1'000'000'000,
                since / 1'000 % 1'000'000);
  return text;
}

void recorder::keep(std::string line) {
  line += '\n';
  for (const char c : line) {
    hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01b3;
  }
  if (keeps_ == 0 || has_ended_) return;
  if (lines_.size() == keeps_) lines_.pop_front();
  lines_.push_back(std::move(line));
}

std::string recorder::last(std::size_t lines) const {
  std::string all;
  for (std::size_t i = lines_.size() - std::min(lines, lines_.size()); i < lines_.size(); ++i) {
    all += lines_[i];
  }
  return all;
}

void recording::started(const actor_event& e) {
  into_->write(e.who, e.actor, "started");
  if (users_ != nullptr) users_->started(e);
}
void recording::restarted(const actor_event& e) {
  into_->write(e.who, e.actor, "restarted");
  if (users_ != nullptr) users_->restarted(e);
}
void recording::ended(const actor_event& e, exit_reason why) {
  into_->write(e.who, e.actor, "ended", to_string(why));
  if (users_ != nullptr) users_->ended(e, why);
}
void recording::sent(const message_event& e) {
  into_->write(e.who, e.actor, "gets", e.message);
  if (users_ != nullptr) users_->sent(e);
}
void recording::begun(const message_event& e) {
  into_->write(e.who, e.actor, "handles", e.message);
  if (users_ != nullptr) users_->begun(e);
}
void recording::done(const message_event& e) {
  into_->write(e.who, e.actor, "has handled", e.message);
  if (users_ != nullptr) users_->done(e);
}
void recording::failed(const failure& f) {
  into_->write(f.who, f.actor, "failed: " + std::string(f.what) + "; in", f.message);
  if (users_ != nullptr) users_->failed(f);
}
void recording::dead(const dead_letter& d) {
  into_->write(d.to, {}, "will not get", d.message);
  if (users_ != nullptr) users_->dead(d);
}
void recording::overloaded(const overload_event& o) {
  into_->write(o.to, o.actor, name_of_kind(o.what), o.message);
  if (users_ != nullptr) users_->overloaded(o);
}

}  // namespace troupe::sim
