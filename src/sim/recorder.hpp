// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/actor/observer.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/sim/simulation.hpp>

namespace troupe::sim {

/// A type's name without what compilers spell differently: unnamed namespaces, lambdas, `> >`.
[[nodiscard]] std::string normal_name(std::string_view name);

/// Writes lines: when, who and what. Actors are numbered in the order in which they are first seen, so that no
/// address is in a line.
class recorder {
 public:
  recorder(const time_point& now, std::size_t keeps) noexcept : now_(now), keeps_(keeps) {}
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  void write(const address& who, std::string_view actor, std::string_view what,
             std::string_view more = {});
  /// Of one who is no actor.
  void write(std::string_view whom, std::string_view what);

  /// What comes from now on is in the hash, and is not kept.
  void keep_no_more() noexcept { has_ended_ = true; }

  /// Of an actor: that of its slot, and which one there. Begins at 1.
  [[nodiscard]] std::uint64_t number_of(const void* line, std::uint32_t generation) {
    return numbers_.try_emplace({line, generation}, numbers_.size() + 1).first->second;
  }

  /// `take` gets each line that is kept, from the first one on. Allocates nothing itself.
  template <class Take>
  void each_line(Take&& take) const {
    for (const std::string& line : lines_) take(std::string_view(line));
  }
  /// All lines that are kept; the last ones.
  [[nodiscard]] std::string text() const { return last(lines_.size()); }
  [[nodiscard]] std::string last(std::size_t lines) const;
  /// Of all lines.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  const std::string& name_of(std::string_view type);
  [[nodiscard]] std::string time() const;
  void keep(std::string line);

  const time_point& now_;
  const std::size_t keeps_;
  std::deque<std::string> lines_;
  bool has_ended_ = false;
  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325;  // FNV-1a
  // Both are only looked up in, never walked.
  std::map<std::pair<const void*, std::uint32_t>, std::uint64_t> numbers_;
  std::map<std::string, std::string, std::less<>> names_;
};

/// That of a simulation.
[[nodiscard]] const recorder& record_of(const simulation& of) noexcept;

/// Has the actors of one system written down, and tells its user's observer as well.
class recording final : public observer {
 public:
  recording(std::shared_ptr<recorder> into, std::shared_ptr<observer> users)
      : into_(std::move(into)), users_(std::move(users)) {}

  void started(const actor_event& e) override;
  void restarted(const actor_event& e) override;
  void ended(const actor_event& e, exit_reason why) override;
  void sent(const message_event& e) override;
  void begun(const message_event& e) override;
  void done(const message_event& e) override;
  void failed(const failure& f) override;
  void dead(const dead_letter& d) override;
  void overloaded(const overload_event& o) override;

 private:
  const std::shared_ptr<recorder> into_;
  const std::shared_ptr<observer> users_;  // null: none
};

}  // namespace troupe::sim
