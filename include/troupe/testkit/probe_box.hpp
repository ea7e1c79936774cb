// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <troupe/actor/events.hpp>
#include <troupe/message/type_name.hpp>
#include <troupe/testkit/shared_state.hpp>
#include <troupe/testkit/stand_in.hpp>

namespace troupe::testkit::detail {

/// The messages and terminations that a probe has received.
///
/// Threads: take(), ended() and closed() in turns of its actor, all else in the test.
template <class... Items>
class probe_box final : public taker<Items...> {
 public:
  using received = std::variant<Items...>;
  using kinds = std::array<bool, sizeof...(Items)>;  // indexed by position in Items

  static constexpr std::array<std::string_view, sizeof...(Items)> names{
      type_name<typename listed<Items>::message>()...};

  explicit probe_box(std::size_t keeps) noexcept : keeps_(keeps) {}

  // ── Called by the actor ────────────────────────────────────────────────────────────────────────
  void take(received&& what) override {
    {
      const auto lock = state_.lock();
      if (ignored_[what.index()]) return;
      if (messages_.size() == keeps_) {
        ++lost_;
      } else {
        messages_.push_back(std::move(what));
      }
    }
    state_.changed();
  }
  void ended(down&& what) override {
    {
      const auto lock = state_.lock();
      ends_.push_back(std::move(what));
    }
    state_.changed();
  }
  void closed() noexcept override {
    std::deque<received> all;
    {
      const auto lock = state_.lock();
      all.swap(messages_);
    }
    // Without the lock, because requesters are notified. A pending reply must not outlive the
    // system.
    for (received& each : all) {
      std::visit([]<class Item>(Item& one) { listed<Item>::let_go(one); }, each);
    }
    {
      const auto lock = state_.lock();
      messages_.swap(all);
      is_closed_ = true;
    }
    state_.changed();
  }

  // ── Called by the test ─────────────────────────────────────────────────────────────────────────

  struct result {
    std::optional<received> got;
    std::string came = {};  // instead of `got`, for the error message
  };

  /// Takes the next message if its type is wanted. With `skips_others`, takes the first wanted
  /// message that arrives by then.
  result next(const kinds& wanted, bool skips_others, time_point until) {
    std::vector<received> skipped;  // destroyed without the lock
    std::optional<std::size_t> last_other;
    auto lock = state_.lock();
    for (;;) {
      const bool is_there = state_.wait_until(lock, until, [&] {
        skip_ignored(skipped);
        return !messages_.empty() || lost_ != 0 || is_closed_;
      });
      if (!is_there || messages_.empty()) break;
      const std::size_t kind = messages_.front().index();
      if (wanted[kind]) return {take_first()};
      if (!skips_others) return {{}, std::string(names[kind])};
      last_other = kind;
      skipped.push_back(*take_first());
    }
    if (lost_ == 0 && last_other) {
      return {{}, "only other messages, the last one " + std::string(names[*last_other])};
    }
    return {{}, nothing_came()};
  }

  /// Describes whatever arrives before the time is over; nothing if nothing arrives.
  [[nodiscard]] std::optional<std::string> anything(time_point until) {
    std::vector<received> skipped;
    auto lock = state_.lock();
    const auto is_there = [&] {
      skip_ignored(skipped);
      return !messages_.empty() || !ends_.empty() || lost_ != 0;
    };
    if (!state_.wait_until(lock, until, is_there)) return std::nullopt;
    if (!messages_.empty()) return std::string(names[messages_.front().index()]);
    if (lost_ != 0) return nothing_came();
    return "a termination, " + std::string(to_string(ends_.front().reason));
  }

  [[nodiscard]] std::optional<down> end_of(const address& who, time_point until) {
    auto lock = state_.lock();
    auto at = ends_.end();
    const bool is_there = state_.wait_until(lock, until, [&] {
      at = std::find_if(ends_.begin(), ends_.end(), [&](const down& d) { return d.who == who; });
      return at != ends_.end() || is_closed_;
    });
    if (!is_there || at == ends_.end()) return std::nullopt;
    down found = std::move(*at);
    ends_.erase(at);
    return found;
  }

  void ignore(std::size_t kind, bool whether) {
    const auto lock = state_.lock();
    ignored_[kind] = whether;
  }
  [[nodiscard]] std::size_t waiting() const {
    const auto lock = state_.lock();
    return static_cast<std::size_t>(
        std::count_if(messages_.begin(), messages_.end(),
                      [&](const received& each) { return !ignored_[each.index()]; }));
  }

 private:
  // Skips messages that arrived before their type was ignored.
  void skip_ignored(std::vector<received>& skipped) {
    while (!messages_.empty() && ignored_[messages_.front().index()]) {
      skipped.push_back(*take_first());
    }
  }
  std::optional<received> take_first() {
    std::optional<received> first(std::move(messages_.front()));
    messages_.pop_front();
    return first;
  }
  [[nodiscard]] std::string nothing_came() const {
    if (lost_ != 0) {
      return "more messages than the probe keeps (probe_options::keeps is " +
             std::to_string(keeps_) + "): the others were discarded";
    }
    if (!ends_.empty())
      return "no message, but a termination, " + std::string(to_string(ends_.front().reason));
    return is_closed_ ? "nothing: the probe's actor has terminated" : "nothing";
  }

  const std::size_t keeps_;
  mutable shared_state state_;
  std::deque<received> messages_;
  std::deque<down> ends_;
  kinds ignored_{};
  std::size_t lost_ = 0;
  bool is_closed_ = false;
};

}  // namespace troupe::testkit::detail
