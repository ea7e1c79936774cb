// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <troupe/actor/events.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/testkit/probe_box.hpp>
#include <troupe/detail/testkit/stand_in.hpp>
#include <troupe/testkit/mismatch.hpp>
#include <troupe/testkit/question.hpp>

namespace troupe::testkit {

struct probe_options {
  std::string name = "probe";  // in reports and traces
  /// The default timeout of expectations. In a simulation this is simulated time.
  duration within = std::chrono::seconds(5);
  /// The number of messages kept until the test looks at them. Messages beyond that are destroyed
  /// (requests get no reply), and the test's expectation fails when it reaches that point.
  std::size_t keeps = 4'096;
};

/// An actor for tests that accepts the listed messages. The test checks them in the order of their
/// arrival:
///
///   troupe::testkit::probe<shipped, question<in_stock, int>> p(system);
///   const auto orders = system.spawn<order_desk>(p.ref());
///   orders.send(order{"tea"});
///   p.expect<in_stock>().reply(3);
///   EXPECT_EQ(p.expect<shipped>().what, "tea");
///   p.expect_nothing(50ms);
///
/// A probe converts to any recipient of its messages and requests; a question<M, R> is the request
/// R(M). The class of the actor is probe<…>::actor.
///
/// While an expectation waits, a simulation on this thread runs; without a simulation the thread
/// sleeps.
///
/// Threads:   the test's thread, one call at a time; std::logic_error within an actor's turn.
///            Messages may come from any thread.
/// Invariant: it must be destroyed before the system. Its destructor stops its actor.
/// Errors:    a failed expectation calls the hook, and throws: see mismatch.hpp. The unexpected
///            message stays.
/// Cost:      an actor; a mutex and a place in a queue for each message.
template <class... Items>
class probe {
  template <class M>
  using named = detail::named<M, Items...>;
  template <class... Ms>
  struct result_of {
    using type = std::variant<typename named<Ms>::type...>;
  };
  template <class M>
  struct result_of<M> {
    using type = typename named<M>::type;
  };

 public:
  using actor = detail::stand_in<Items...>;
  /// The result type of expect<M>(): M or the question; for several messages a variant.
  template <class... Ms>
  using received = typename result_of<Ms...>::type;

  /// Spawns the probe's actor. Errors: as system::spawn().
  explicit probe(troupe::system& system, probe_options options = {})
      : within_(options.within),
        box_(std::make_shared<detail::probe_box<Items...>>(options.keeps)),
        actor_(system.spawn<actor>(spawn_options{.name = std::move(options.name)}, box_)) {}
  probe(const probe&) = delete;
  probe& operator=(const probe&) = delete;
  ~probe() { actor_.stop_now(); }

  [[nodiscard]] const troupe::ref<actor>& ref() const noexcept { return actor_; }
  template <message_or_request... Ms>
  operator recipient<Ms...>() const noexcept {
    return actor_;
  }
  operator address() const noexcept { return actor_; }

  // ── Messages ───────────────────────────────────────────────────────────────────────────────────

  /// Waits for the next message, which must be an M, or one of several types. With a time-out of
  /// zero, the message must already have arrived.
  template <class... Ms>
  received<Ms...> expect(std::optional<duration> within = {},
                         std::source_location where = std::source_location::current()) {
    return next<Ms...>(false, "expect()", within, where);
  }
  /// Waits for the next M, or the next one of several types. Earlier messages of other types are
  /// skipped.
  template <class... Ms>
  received<Ms...> expect_eventually(std::optional<duration> within = {},
                                    std::source_location where = std::source_location::current()) {
    return next<Ms...>(true, "expect_eventually()", within, where);
  }
  /// Expects that there is no message and no termination now, and that none arrives within
  /// `for_so_long`.
  void expect_nothing(duration for_so_long,
                      std::source_location where = std::source_location::current()) {
    detail::refuse_in_a_turn("expect_nothing()");
    const auto came = box_->anything(later(clock::now(), for_so_long));
    if (came) fail("nothing for " + detail::to_text(for_so_long), *came, where);
  }

  /// Ignores all messages of type M from now on, also those that have already arrived.
  template <class M>
  void ignore() {
    box_->ignore(named<M>::place, true);
  }
  /// Ends ignore(): messages of type M that arrive from now on are seen again.
  template <class M>
  void unignore() {
    box_->ignore(named<M>::place, false);
  }

  /// Returns the number of messages that have arrived and are neither taken nor ignored.
  [[nodiscard]] std::size_t waiting() const { return box_->waiting(); }

  // ── Termination of other actors ────────────────────────────────────────────────────────────────

  /// Monitors another actor, given by a ref, a recipient or an address (see actor::watch()), so
  /// that expect_end() sees its termination. Waits until the probe's actor has begun to watch.
  template <class Other>
  void watch(const Other& other, std::source_location where = std::source_location::current()) {
    detail::refuse_in_a_turn("watch()");
    watched_.push_back(other);
    std::function<void(actor&)> how = [other](actor& self) { self.watches(other); };
    const auto done =
        actor_.template ask<typename actor::watch_order>(within_, std::move(how)).get();
    if (!done) fail("watch() to succeed", std::string(to_string(done.error())), where);
  }
  /// Waits for the termination of a watched actor. Each call of watch() reports one termination.
  /// Terminations have no order relative to messages, but all messages that the actor sent before
  /// have arrived.
  /// Errors: std::logic_error if the actor is not watched.
  down expect_end(const address& of, std::optional<duration> within = {},
                  std::source_location where = std::source_location::current()) {
    detail::refuse_in_a_turn("expect_end()");
    if (std::find(watched_.begin(), watched_.end(), of) == watched_.end()) {
      throw std::logic_error(
          "troupe: probe::expect_end() was called for an actor that the probe does not watch: call "
          "watch() first");
    }
    const duration time = within.value_or(within_);
    auto got = box_->end_of(of, later(clock::now(), time));
    if (!got) fail("the termination of an actor within " + detail::to_text(time), "nothing", where);
    return *std::move(got);
  }

 private:
  template <class... Ms>
  received<Ms...> next(bool skips_others, const char* what, std::optional<duration> within,
                       const std::source_location& where) {
    static_assert(sizeof...(Ms) > 0, "expect() needs at least one message type: expect<hello>()");
    detail::refuse_in_a_turn(what);
    const duration time = within.value_or(within_);
    typename detail::probe_box<Items...>::kinds wanted{};
    ((wanted[named<Ms>::place] = true), ...);
    auto next = box_->next(wanted, skips_others, later(clock::now(), time));
    if (!next.got) {
      std::string names;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i]) (names += names.empty() ? "" : " or ") += box_->names[i];
      }
      fail(names + " within " + detail::to_text(time), std::move(next.came), where);
    }
    if constexpr (sizeof...(Ms) == 1) {
      return std::get<received<Ms...>>(*std::move(next.got));
    } else {
      return one_of<received<Ms...>, Ms...>(*next.got);
    }
  }
  template <class Result, class... Ms>
  static Result one_of(std::variant<Items...>& got) {
    std::optional<Result> found;
    (void)((std::holds_alternative<typename named<Ms>::type>(got) &&
            (found.emplace(std::get<typename named<Ms>::type>(std::move(got))), true)) ||
           ...);
    return *std::move(found);
  }

  const duration within_;
  const std::shared_ptr<detail::probe_box<Items...>> box_;
  const troupe::ref<actor> actor_;
  std::vector<address> watched_;
};

}  // namespace troupe::testkit
