// SPDX-License-Identifier: Apache-2.0

#include "succession.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace troupe::lua::detail {

/// The ending of on_start and self_test of a version that is to take over.
class succession::checking final : public ending {
 public:
  explicit checking(std::shared_ptr<progress> of) noexcept : of_(std::move(of)) {}

  // self_test passes unless it fails, or returns false and a reason.
  void returned(lua_State* in, int first) override {
    of_->ended = true;
    if (of_->at != step::testing || lua_gettop(in) < first || !lua_isboolean(in, first)) return;
    if (lua_toboolean(in, first) != 0) return;
    const char* const why = lua_tostring(in, first + 1);
    of_->why_not = std::string("self_test returned false") +
                   (why != nullptr ? std::string(": ") + why : std::string());
  }
  void failed(const failure& why) noexcept override {
    of_->ended = true;
    of_->why_not =
        (of_->at == step::starting ? "on_start failed: " : "self_test failed: ") + why.text;
  }

 private:
  const std::shared_ptr<progress> of_;
};

// ── Events ────────────────────────────────────────────────────────────────────────────────────

program* succession::find(std::uint64_t what) const noexcept {
  program* found = nullptr;
  each([&](program& one) {
    if (one.is_for(what)) found = &one;
  });
  return found;
}

void succession::due(std::uint64_t what) {
  program* const of = find(what);
  if (of == nullptr) return;
  if (of == next_.get() && !of->its_tasks().is_waited_for(what)) {
    early_.push_back(what);
  } else {
    of->due(what);
  }
}

void succession::answered(std::uint64_t what, bool ok, const std::string& value) {
  if (program* const of = find(what)) of->answered(what, ok, value);
}

void succession::told(std::uint64_t what) {
  if (what == presence_box::told) {
    current_->its_sharing().told(what);
  } else if (program* const of = find(what)) {
    of->its_sharing().told(what);
  }
}

void succession::forget(std::uint64_t client) {
  each([&](program& one) { one.forget(client); });
}

void succession::resume(std::uint64_t what, pushing push) {
  if (program* const of = find(what)) of->its_tasks().resume(what, push);
}

program* succession::with_connection(std::uint64_t id) const noexcept {
  program* found = nullptr;
  each([&](program& one) {
    if (one.its_connections().find(id) != nullptr) found = &one;
  });
  return found;
}

// ── Taking over ───────────────────────────────────────────────────────────────────────────────

void succession::prepare(std::unique_ptr<program> next, reply<upgraded> owed) {
  abandon("another upgrade was started");
  next_ = std::move(next);
  progress_ = std::make_shared<progress>();
  owed_ = std::move(owed);
  check(handler::start);
}

void succession::check(handler which) {
  progress_->ended = !next_->has(which);
  try {
    next_->call(
        which, [](lua_State*) { return 0; }, std::make_unique<checking>(progress_));
  } catch (const std::bad_alloc&) {
    progress_->ended = true;
    progress_->why_not = "not enough memory for its handlers";
  }
}

// Continues if the handler of a check has ended.
void succession::go_on() {
  while (next_ && progress_->ended) {
    if (!progress_->why_not.empty()) {
      owed_.set_value(upgraded{progress_->why_not});
      abandon({});
    } else if (progress_->at == step::starting) {
      progress_->at = step::testing;
      check(handler::test);
    } else {
      progress_->at = step::ready;
      progress_->ended = false;
      owed_.set_value(upgraded{});
    }
  }
}

void succession::abandon(const std::string& why) {
  if (!next_) return;
  if (progress_->at != step::ready && !why.empty()) owed_.set_value(upgraded{why});
  finished_.push_back(std::move(next_));
  progress_.reset();
  early_.clear();
}

std::string succession::take_over() try {
  if (!next_ || progress_->at != step::ready)
    return "the instance was restarted during the upgrade";
  std::string saved;
  if (const std::string why_not = current_->save(saved); !why_not.empty()) {
    abandon({});
    return "on_save failed: " + why_not;
  }
  if (const std::string why_not = next_->take_over(saved); !why_not.empty()) {
    abandon({});
    return "on_upgrade failed: " + why_not;
  }
  current_->retire();
  retired_.push_back(std::exchange(current_, std::move(next_)));
  progress_.reset();
  told(presence_box::told);  // changes that came while it was prepared
  const auto rang = std::exchange(early_, {});
  for (const std::uint64_t what : rang) current_->due(what);
  return {};
} catch (const std::bad_alloc&) {
  abandon({});
  return "not enough memory for the saved state";
}

void succession::overdue(unsigned version) {
  for (const auto& one : retired_) {
    if (one->its_version()->number == version) one->wind_up("the application has been upgraded");
  }
}

// ── End ───────────────────────────────────────────────────────────────────────────────────────

void succession::tidy() {
  go_on();
  for (auto& one : retired_) {
    if (one->its_tasks().waiting() == 0) finished_.push_back(std::move(one));
  }
  std::erase(retired_, nullptr);
  finished_.clear();
  each([](program& one) { one.tidy(); });
}

void succession::wind_up(const std::string& why) {
  abandon(why);
  each([&](program& one) { one.wind_up(why); });
}

// The endings that are notified may look for a program, and find none.
void succession::clear() noexcept {
  const auto current = std::move(current_);
  const auto next = std::move(next_);
  const auto retired = std::exchange(retired_, {});
  const auto finished = std::exchange(finished_, {});
}

std::size_t succession::memory() const noexcept {
  std::size_t all = 0;
  each([&](program& one) { all += one.its_state().governor().memory(); });
  return all;
}

std::size_t succession::connections() const noexcept {
  std::size_t all = 0;
  each([&](program& one) { all += one.its_connections().size(); });
  return all;
}

std::size_t succession::waiting() const noexcept {
  std::size_t all = 0;
  each([&](program& one) { all += one.its_tasks().waiting(); });
  return all;
}

}  // namespace troupe::lua::detail
