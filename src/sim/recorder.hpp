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

/// Returns a type's name with the parts that compilers spell differently normalized: unnamed
/// namespaces, lambdas, `> >`.
[[nodiscard]] std::string normal_name(std::string_view name);

/// Writes the trace of a simulation: lines with the time, the actor and the event.
///
/// Actors are numbered in the order in which they are first seen, so that no line contains an
/// address.
class recorder {
 public:
  recorder(const time_point& now, std::size_t keeps) noexcept : now_(now), keeps_(keeps) {}
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  void write(const address& who, std::string_view actor, std::string_view what,
             std::string_view more = {});
  /// Writes a line for a participant that is not an actor.
  void write(std::string_view whom, std::string_view what);

  /// Stops keeping lines. Later lines only contribute to the hash.
  void keep_no_more() noexcept { has_ended_ = true; }

  /// Returns the number of the actor with this slot and generation. Numbers begin at 1.
  [[nodiscard]] std::uint64_t number_of(const void* line, std::uint32_t generation) {
    return numbers_.try_emplace({line, generation}, numbers_.size() + 1).first->second;
  }

  /// Calls `take` with each kept line, oldest first. Allocates nothing itself.
  template <class Take>
  void each_line(Take&& take) const {
    for (const std::string& line : lines_) take(std::string_view(line));
  }
  /// Returns all kept lines.
  [[nodiscard]] std::string text() const { return last(lines_.size()); }
  /// Returns the last `lines` of the kept lines.
  [[nodiscard]] std::string last(std::size_t lines) const;
  /// Returns the hash of all lines, kept or not.
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
  // Both are used for lookups only, never iterated.
  std::map<std::pair<const void*, std::uint32_t>, std::uint64_t> numbers_;
  std::map<std::string, std::string, std::less<>> names_;
};

/// Returns the recorder of a simulation.
[[nodiscard]] const recorder& record_of(const simulation& of) noexcept;

/// Records the actors of one system, and forwards each event to the user's observer.
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
  const std::shared_ptr<observer> users_;  // null if the user has none
};

}  // namespace troupe::sim
