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
#include <troupe/detail/testkit/shared_state.hpp>
#include <troupe/detail/testkit/stand_in.hpp>
#include <troupe/message/type_name.hpp>
#include <troupe/testkit/mismatch.hpp>
#include <troupe/testkit/question.hpp>

namespace troupe::testkit {

namespace detail {

/// A stub's behaviour for one kind of message, and the record of its calls.
template <class Item>
struct stub_case {
  using message = typename listed<Item>::message;
  using handler = std::function<void(Item&&)>;
  using kept = std::conditional_t<std::copy_constructible<message>, message, std::monostate>;

  std::shared_ptr<handler> does;  // null: none
  bool is_silent = false;
  std::size_t calls = 0;
  std::deque<kept> last;
  std::deque<Item> unanswered;  // of a silent stub

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

/// The behaviour and the calls of a stub.
///
/// Threads: take() and closed() in turns of its actor, all else in the test.
template <class... Items>
class stub_box final : public taker<Items...> {
 public:
  explicit stub_box(std::size_t keeps) noexcept : keeps_(keeps) {}

  void take(std::variant<Items...>&& what) override {
    std::visit([this]<class Item>(Item& one) { this->handle(std::move(one)); }, what);
  }
  void ended(down&&) override {}
  void closed() noexcept override {
    // Without the lock, because requesters are notified. A pending reply must not outlive the
    // system.
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
    // Counted after the handler, so that a test that waits for the count sees the handler's
    // effects.
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
  /// The default timeout of expect_calls(). In a simulation this is simulated time.
  duration within = std::chrono::seconds(5);
  /// The number of last calls remembered for each message type, and of requests kept while silent.
  std::size_t keeps = 1'024;
};

/// An actor for tests that stands in for another actor. It has a function for each message type,
/// which can be replaced, and counts and records its calls:
///
///   troupe::testkit::stub<shipped, question<in_stock, int>> s(system);
///   s.on<in_stock>([](const in_stock& m) { return m.what == "tea" ? 3 : 0; });
///   const auto orders = system.spawn<order_desk>(s);  // as a recipient<shipped, int(in_stock)>
///   …
///   EXPECT_EQ(s.count<shipped>(), 1u);
///
/// Without a function a message is counted, and a request fails at once with ask_error::unanswered.
///
/// Threads:   the functions run in the actor's turns, one at a time; all else is called by the
///            test. A test that has waited for a call sees the effects of its function.
/// Invariant: it must be destroyed before the system. Its destructor stops its actor.
/// Errors:    an exception of a function fails the actor like any other: the requester gets
///            ask_error::failed.
/// Cost:      an actor; for each message two locks of a mutex, and a copy if it can be copied.
template <class... Items>
class stub {
  template <class M>
  using named = typename detail::named<M, Items...>::type;

 public:
  using actor = detail::stand_in<Items...>;

  /// Spawns the stub's actor. Errors: as system::spawn().
  explicit stub(troupe::system& system, stub_options options = {})
      : within_(options.within),
        box_(std::make_shared<detail::stub_box<Items...>>(options.keeps)),
        actor_(system.spawn<actor>(spawn_options{.name = std::move(options.name)}, box_)) {}
  stub(const stub&) = delete;
  stub& operator=(const stub&) = delete;
  ~stub() { actor_.stop_now(); }

  [[nodiscard]] const troupe::ref<actor>& ref() const noexcept { return actor_; }
  template <message_or_request... Ms>
  operator recipient<Ms...>() const noexcept {
    return actor_;
  }
  operator address() const noexcept { return actor_; }

  // ── Behaviour ──────────────────────────────────────────────────────────────────────────────────

  /// Handles M with `handler(m)`. For a question its result is the reply; a `handler(m,
  /// troupe::reply<R>)` may reply at any later time. The handler is copied.
  template <class M, class F>
  stub& on(F handler) {
    return does<M>([handler = std::move(handler)](named<M>&& m) mutable {
      if constexpr (!detail::listed<named<M>>::is_question) {
        static_assert(std::invocable<F&, named<M>>,
                      "the handler must be callable with the message");
        static_cast<void>(handler(std::move(m)));
      } else {
        using asked = typename detail::listed<named<M>>::message;
        using answer = typename detail::listed<named<M>>::answer;
        if constexpr (std::invocable<F&, asked, troupe::reply<answer>>) {
          static_cast<void>(handler(std::move(m.message), std::move(m.owed)));
        } else {
          static_assert(std::is_invocable_r_v<answer, F&, asked>,
                        "the handler of a request must return the reply or take a troupe::reply");
          answer_with(handler, m);
        }
      }
    });
  }
  /// Makes each request fail with ask_error::failed; the stub does not terminate.
  template <class M>
  stub& fails() {
    static_assert(detail::listed<named<M>>::is_question,
                  "fails<M>() needs a request: a plain message has no reply that could fail");
    return does<M>([](named<M>&& m) { m.fail(); });
  }
  /// Makes the stub send no replies: requests fail when their time-out expires, or with
  /// ask_error::unanswered when the stub is destroyed.
  template <class M>
  stub& stays_silent() {
    return does<M>(nullptr);
  }

  // ── Received calls ─────────────────────────────────────────────────────────────────────────────

  template <class M>
  [[nodiscard]] std::size_t count() const {
    const auto lock = box_->state.lock();
    return box_->template of<named<M>>().calls;
  }
  /// Returns the last calls, in the order of their arrival.
  template <class M>
  [[nodiscard]] auto calls() const {
    using called = typename detail::listed<named<M>>::message;
    static_assert(std::copy_constructible<called>,
                  "calls<M>() needs a copyable message: use count<M>() for others");
    const auto lock = box_->state.lock();
    const auto& last = box_->template of<named<M>>().last;
    return std::vector<called>(last.begin(), last.end());
  }
  /// Waits until there have been at least `times` calls.
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
  // An exception of the handler is reported to the requester.
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
