// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/type_name.hpp>
#include <troupe/testkit/mismatch.hpp>
#include <troupe/testkit/question.hpp>
#include <troupe/testkit/shared_state.hpp>
#include <troupe/testkit/stand_in.hpp>

namespace troupe::testkit {

namespace detail {

/// What a stub does with one kind of message, and what has come of it.
template <class Item>
struct stub_case {
  using message = typename listed<Item>::message;
  using handler = std::function<void(Item&&)>;
  using kept = std::conditional_t<std::copy_constructible<message>, message, std::monostate>;

  std::shared_ptr<handler> does;  // null: nothing
  bool is_silent = false;
  std::size_t calls = 0;
  std::deque<kept> last;
  std::deque<Item> unanswered;  // of one that is silent

  static kept copy(const Item& of) {
    if constexpr (!std::copy_constructible<message>) {
      return {};
    } else if constexpr (listed<Item>::is_question) {
      return of.message;
    } else {
      return of;
    }
  }
};

/// Threads: take() and closed() from the turns of its actor, the rest from the test.
template <class... Items>
class stub_box final : public taker<Items...> {
 public:
  explicit stub_box(std::size_t keeps) noexcept : keeps_(keeps) {}

  void take(std::variant<Items...>&& what) override {
    std::visit([this]<class Item>(Item& one) { this->handle(std::move(one)); }, what);
  }
  void ended(down&&) override {}
  void closed() noexcept override {
    // Without the lock: who asked is told. An answer that is owed does not outlive the system.
    std::tuple<std::deque<Items>...> unanswered;
    const auto lock = state.lock();
    (std::get<std::deque<Items>>(unanswered).swap(of<Items>().unanswered), ...);
  }

  template <class Item>
  [[nodiscard]] stub_case<Item>& of() noexcept {
    return std::get<stub_case<Item>>(cases_);
  }

  shared_state state;

 private:
  template <class Item>
  void handle(Item&& one) {
    stub_case<Item>& mine = of<Item>();
    auto copied = stub_case<Item>::copy(one);
    std::shared_ptr<typename stub_case<Item>::handler> does;
    std::deque<Item> too_old;  // destroyed without the lock
    {
      const auto lock = state.lock();
      does = mine.does;
      if (does == nullptr && mine.is_silent) keep(mine.unanswered, std::move(one), too_old);
    }
    // Counted behind the handler: who has waited for the count sees what that did.
    struct count_after {
      stub_box& box;
      stub_case<Item>& mine;
      decltype(copied)& call;
      ~count_after() {
        {
          const auto lock = box.state.lock();
          ++mine.calls;
          std::deque<typename stub_case<Item>::kept> old;
          if constexpr (std::copy_constructible<typename listed<Item>::message>) {
            box.keep(mine.last, std::move(call), old);
          }
        }
        box.state.changed();
      }
    } counts{*this, mine, copied};
    if (does != nullptr) (*does)(std::move(one));
  }
  template <class T>
  void keep(std::deque<T>& in, T&& one, std::deque<T>& too_old) {
    in.push_back(std::move(one));
    if (in.size() <= keeps_) return;
    too_old.push_back(std::move(in.front()));
    in.pop_front();
  }

  const std::size_t keeps_;
  std::tuple<stub_case<Items>...> cases_;
};

}  // namespace detail

struct stub_options {
  std::string name = "stub";  // in reports and traces
  /// How long expect_calls() waits that does not say it: time of the simulation, if there is one.
  duration within = std::chrono::seconds(5);
  /// Calls that are remembered of each message, the last ones, and questions that it is silent about.
  std::size_t keeps = 1'024;
};

/// An actor for a test that stands for another one: a function for each message, which may be exchanged. It
/// counts its calls and remembers them.
///
///   troupe::testkit::stub<shipped, question<in_stock, int>> s(system);
///   s.on<in_stock>([](const in_stock& m) { return m.what == "tea" ? 3 : 0; });
///   const auto orders = system.spawn<order_desk>(s.ref());
///   …
///   EXPECT_EQ(s.count<shipped>(), 1u);
///
/// Without a function a message is counted, and a question is not answered: ask_error::unanswered, at once.
///
/// Threads:   the functions are called in the actor's turns, one at a time; the rest is for the test. What a
///            function has done is seen by who has waited for its call.
/// Invariant: it ends, and its actor with it, before the system does.
/// Errors:    what a function throws fails the actor, as any other: who asked gets ask_error::failed.
/// Cost:      that of an actor; a mutex twice, and a copy of each message that can be copied.
template <class... Items>
class stub {
  template <class M>
  using named = typename detail::named<M, Items...>::type;

 public:
  using actor = detail::stand_in<Items...>;

  /// Errors: as system::spawn().
  explicit stub(troupe::system& system, stub_options options = {})
      : within_(options.within),
        box_(std::make_shared<detail::stub_box<Items...>>(options.keeps)),
        actor_(system.spawn<actor>(spawn_options{.name = std::move(options.name)}, box_)) {}
  stub(const stub&) = delete;
  stub& operator=(const stub&) = delete;
  ~stub() { actor_.stop_now(); }

  [[nodiscard]] const troupe::ref<actor>& ref() const noexcept { return actor_; }
  template <message... Ms>
  operator recipient<Ms...>() const noexcept {
    return actor_;
  }
  operator address() const noexcept { return actor_; }

  // ── What it does ────────────────────────────────────────────────────────────────────────────

  /// Calls `handler(m)`; of a question its result is the answer, or, with `handler(m, troupe::reply<R>)`, it
  /// answers when it likes. It is copied.
  template <class M, class F>
  stub& on(F handler) {
    return does<M>([handler = std::move(handler)](named<M>&& m) mutable {
      if constexpr (!detail::listed<named<M>>::is_question) {
        static_assert(std::invocable<F&, named<M>>, "a handler takes the message");
        static_cast<void>(handler(std::move(m)));
      } else {
        using asked = typename detail::listed<named<M>>::message;
        using answer = typename detail::listed<named<M>>::answer;
        if constexpr (std::invocable<F&, asked, troupe::reply<answer>>) {
          static_cast<void>(handler(std::move(m.message), std::move(m.owed)));
        } else {
          static_assert(std::is_invocable_r_v<answer, F&, asked>,
                        "the handler of a question returns the answer, or takes a troupe::reply");
          answer_with(handler, m);
        }
      }
    });
  }
  /// Who asks gets ask_error::failed; it does not end.
  template <class M>
  stub& fails() {
    static_assert(detail::listed<named<M>>::is_question,
                  "nobody waits for the failure of a message");
    return does<M>([](named<M>&& m) { m.fail(); });
  }
  /// Who asks gets nothing, until his time is over or the stub ends: ask_error::unanswered.
  template <class M>
  stub& stays_silent() {
    return does<M>(nullptr);
  }

  // ── What has come ───────────────────────────────────────────────────────────────────────────

  template <class M>
  [[nodiscard]] std::size_t count() const {
    const auto lock = box_->state.lock();
    return box_->template of<named<M>>().calls;
  }
  /// The last ones, in order, as they came.
  template <class M>
  [[nodiscard]] auto calls() const {
    using called = typename detail::listed<named<M>>::message;
    static_assert(std::copy_constructible<called>, "what cannot be copied is only counted");
    const auto lock = box_->state.lock();
    const auto& last = box_->template of<named<M>>().last;
    return std::vector<called>(last.begin(), last.end());
  }
  /// Waits until there have been so many, or more.
  template <class M>
  void expect_calls(std::size_t times, std::optional<duration> within = {},
                    std::source_location where = std::source_location::current()) {
    detail::refuse_in_a_turn("expect_calls()");
    const duration time = within.value_or(within_);
    std::size_t came = 0;
    {
      auto lock = box_->state.lock();
      const auto are_there = [&] {
        came = box_->template of<named<M>>().calls;
        return came >= times;
      };
      if (box_->state.wait_until(lock, later(clock::now(), time), are_there)) return;
    }
    fail(std::to_string(times) + " calls with " +
             std::string(type_name<typename detail::listed<named<M>>::message>()) + " within " +
             detail::to_text(time),
         std::to_string(came), where);
  }

 private:
  template <class M>
  stub& does(typename detail::stub_case<named<M>>::handler handler) {
    auto made =
        handler == nullptr
            ? nullptr
            : std::make_shared<typename detail::stub_case<named<M>>::handler>(std::move(handler));
    const auto lock = box_->state.lock();
    auto& of = box_->template of<named<M>>();
    of.is_silent = made == nullptr;
    of.does.swap(made);
    return *this;
  }
  // What it throws is told to who asked.
  template <class F, class M, class R>
  static void answer_with(F& handler, question<M, R>& asked) {
    try {
      asked.reply(handler(std::move(asked.message)));
    } catch (...) {
      asked.fail();
      throw;
    }
  }

  const duration within_;
  const std::shared_ptr<detail::stub_box<Items...>> box_;
  const troupe::ref<actor> actor_;
};

}  // namespace troupe::testkit
