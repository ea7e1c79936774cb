// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lua.hpp>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "state.hpp"

namespace troupe::lua::detail {

/// Why a handler has failed.
struct failure {
  governor::verdict why = governor::verdict::none;  // none: an error of its own
  std::string text;
  std::string traceback;  // several lines; the first is `text`
  /// Set if the error is meant for the caller: a table with an integer `code` and a string
  /// `message`.
  std::optional<std::int64_t> code;
};

/// Receives the result of a handler. It is destroyed without a call if the state ends first.
class ending {
 public:
  virtual ~ending() = default;
  /// The results are on the stack from `first` on. Raising an error fails the handler.
  virtual void returned(lua_State* in, int first) = 0;
  virtual void failed(const failure& why) noexcept = 0;
  /// There was no function to call.
  virtual void not_begun() noexcept {}
  /// Whether the handler must not continue beside a version that has taken over.
  [[nodiscard]] virtual bool ends_with_its_version() const noexcept { return false; }
};

/// For callers that need only the failures.
class no_ending final : public ending {
 public:
  void returned(lua_State*, int) override {}
  void failed(const failure&) noexcept override {}
};

/// A function that pushes values onto a stack and returns their number. It may raise errors.
class pushing {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, pushing>)
  pushing(F&& f) noexcept  // NOLINT: from a lambda, for the length of a call
      : with_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* with, lua_State* to) {
          return (*static_cast<std::remove_reference_t<F>*>(with))(to);
        }) {}
  int operator()(lua_State* to) const { return call_(with_, to); }

 private:
  void* with_;
  int (*call_)(void*, lua_State*);
};

/// Runs the handlers of one state, each in a coroutine, so that a handler can wait while others
/// run.
///
///   read()  before a task is started: its message is read, and may need no task
///   start() ──▶ running ──returns──▶ done
///                │   ▲ ──an error, a kill──▶ failed
///          wait()│   │resume()
///                ▼   │
///               waiting ──drop()──▶ dropped
///
/// Scripts run only within a run that the governor bounds, and Lua raises errors only within a
/// protected call.
///
/// Threads: as the state.
/// Errors:  an error of a script fails its handler. std::bad_alloc if there is no room for another
///          coroutine.
class tasks {
 public:
  enum class outcome : std::uint8_t { done, waits, failed };

  /// Is called for each failure without a code, before the ending is.
  class observer {
   public:
    virtual void handler_failed(const failure& why) noexcept = 0;

   protected:
    ~observer() = default;
  };

  /// Waits are named by even numbers above `first`.
  tasks(state& of, std::size_t waiting_max, observer& told, std::uint64_t first = 0)
      : state_(of), waiting_max_(waiting_max), observer_(told), last_wait_(first) {}
  ~tasks();

  /// Runs `push` outside of any task, and keeps the one value that it pushes for the next task. No
  /// script runs. Returns false if it fails, for lack of memory or of time; then `then` is told.
  [[nodiscard]] bool read(pushing push, ending& then) noexcept;
  /// Pushes the value that read() has kept, in the task or elsewhere.
  static void push_read(lua_State* to);
  /// Releases it.
  void forget_read() noexcept;

  /// Calls the function that `push` pushes, with the arguments that it pushes after it and has
  /// counted. Nothing is called if it returns `nothing`.
  outcome start(pushing push, std::unique_ptr<ending> then);
  static constexpr int nothing = -1;

  /// Resumes the handler that waits for `what`, with the results that `push` pushes. Does nothing
  /// if the handler no longer waits.
  outcome resume(std::uint64_t what, pushing push);

  [[nodiscard]] bool is_waited_for(std::uint64_t what) const { return waiting_.contains(what); }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

  /// Fails the suspended handlers for whose endings `which` is true.
  template <class Predicate>
  void drop_if(Predicate which, const std::string& why) {
    std::vector<std::unique_ptr<task>> dropped;
    for (auto i = waiting_.begin(); i != waiting_.end();) {
      if (!which(*i->second->then)) {
        ++i;
        continue;
      }
      dropped.push_back(std::move(i->second));
      i = waiting_.erase(i);
    }
    for (auto& each : dropped) drop(std::move(each), why);
  }
  /// Fails all suspended handlers.
  void drop_all(const std::string& why) {
    drop_if([](const ending&) { return true; }, why);
  }

  // ── For functions that scripts call, in a running task ──────────────────────────────────────
  /// Returns an id for the wait that the task is about to begin. Raises an error if there
  /// are too many waits, or if waiting is not possible here.
  std::uint64_t announce_wait(lua_State* in);
  /// To be used afterwards as `return wait(in)`. The values that resume() pushes are the function's
  /// results.
  static int wait(lua_State* in);

 private:
  struct task {
    lua_State* thread = nullptr;
    int kept = LUA_NOREF;  // in the registry
    std::unique_ptr<ending> then;
    std::uint64_t waits_for = 0;
  };
  struct launch;

  // How a handler is called and resumed is in running.cpp, and in that of LuaJIT.
  /// Runs `work` where errors may be raised, outside of a task. Returns false if memory is lacking.
  static bool protect(lua_State* in, pushing work) noexcept;
  static int begin(lua_State* in);
  static int finish(lua_State* in, int status, lua_KContext context);
  static int deliver(lua_State* in, int status, lua_KContext context);

  outcome run(std::unique_ptr<task> which, int arguments);
  outcome fail(std::unique_ptr<task> which, governor::verdict verdict, const char* text);
  failure describe(lua_State* thread, governor::verdict verdict, const char* given);
  std::unique_ptr<task> take_idle();
  void drop(std::unique_ptr<task> which, const std::string& why);
  void give_back(std::unique_ptr<task> which) noexcept;

  state& state_;
  const std::size_t waiting_max_;
  observer& observer_;
  std::uint64_t last_wait_;
  task* running_ = nullptr;
  std::unordered_map<std::uint64_t, std::unique_ptr<task>> waiting_;
  std::vector<std::unique_ptr<task>> idle_;
};

}  // namespace troupe::lua::detail
