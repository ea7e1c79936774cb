// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/actor_type.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>

namespace troupe {

/// When a supervisor restarts a child whose termination it did not request.
enum class restart : std::uint8_t {
  on_failure,  // if it terminated abnormally: see is_abnormal()
  always,      // also after stop()
  never,
};

class siblings;

/// Never defined. The compiler names it for a child whose arguments cannot be copied, so that it
/// could be started only once. Pass child() a function that returns a new actor instead.
template <class Actor, class... Arguments>
struct child_needs_arguments_that_can_be_copied;

namespace detail {

using make_child = std::function<void(void* place, const siblings& others)>;

}  // namespace detail

/// How a supervisor starts, restarts and stops one of its children. Made by child().
///
/// Threads: a plain value; copies share the function that makes the child.
class child_spec {
 public:
  child_spec(std::string name, const detail::actor_type& type, detail::make_child make)
      : type_(&type), make_(std::make_shared<const detail::make_child>(std::move(make))) {
    options_.name = std::move(name);
  }

  child_spec& restart_policy(restart when) noexcept {
    when_ = when;
    return *this;
  }
  /// The time limit for its constructor and on_start() together.
  child_spec& start_timeout(duration most) noexcept {
    start_most_ = most;
    return *this;
  }
  /// The time limit for its termination after stop(), and again after stop_now(). After both the
  /// supervisor abandons it.
  child_spec& stop_timeout(duration most) noexcept {
    stop_most_ = most;
    return *this;
  }
  /// Whenever an incarnation ends, the messages in its mailbox are discarded as dead letters.
  child_spec& clear_mailbox() noexcept {
    forgets_mailbox_ = true;
    return *this;
  }
  /// Where the child runs, and its limits. The name in `options` is ignored: the child keeps its
  /// own.
  child_spec& options(spawn_options options) {
    options.name = std::move(options_.name);
    options_ = std::move(options);
    return *this;
  }

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const detail::actor_type& type() const noexcept { return *type_; }
  [[nodiscard]] const spawn_options& options() const noexcept { return options_; }
  [[nodiscard]] restart when() const noexcept { return when_; }
  [[nodiscard]] duration start_most() const noexcept { return start_most_; }
  [[nodiscard]] duration stop_most() const noexcept { return stop_most_; }
  [[nodiscard]] bool is_to_forget_mailbox() const noexcept { return forgets_mailbox_; }
  void make(void* place, const siblings& others) const { (*make_)(place, others); }

 private:
  const detail::actor_type* type_;
  std::shared_ptr<const detail::make_child> make_;
  spawn_options options_;
  restart when_ = restart::on_failure;
  duration start_most_ = std::chrono::seconds(5);
  duration stop_most_ = std::chrono::seconds(5);
  bool forgets_mailbox_ = false;
};

/// The children of one supervisor, for the functions that make these children.
class siblings {
 public:
  struct entry {
    std::string name;
    const detail::actor_type* type;
    address who;
  };

  explicit siblings(std::vector<entry> all) : all_(std::move(all)) {}

  /// The sibling of this name. It may not have been started yet; messages sent to it wait until it
  /// is.
  /// Errors: std::logic_error if there is no child of this name and class, or it has terminated for
  ///         good.
  template <class A>
  [[nodiscard]] ref<A> get(std::string_view name) const {
    return detail::ref_access::adopt<A>(find(name, detail::actor_type_of<A>));
  }

 private:
  [[nodiscard]] detail::control_block* find(std::string_view name,
                                            const detail::actor_type& type) const;

  std::vector<entry> all_;
};

namespace detail {

template <class F, class A>
concept makes_actor =
    std::is_base_of_v<actor, A> && (
                                       requires(const F& make) {
                                         { make() } -> std::same_as<A>;
                                       } ||
                                       requires(const F& make, const siblings& others) {
                                         { make(others) } -> std::same_as<A>;
                                       });

// Constructed in place: the function's result is not moved.
template <class A, class F>
make_child make_by(F make) {
  return [make = std::move(make)](void* place, const siblings& others) {
    if constexpr (requires { make(others); }) {
      ::new (place) A(make(others));
    } else {
      ::new (place) A(make());
    }
  };
}

template <class A, class... Arguments>
make_child make_from(Arguments&&... arguments) {
  using kept = std::tuple<std::decay_t<Arguments>...>;
  if constexpr (!(std::copy_constructible<std::decay_t<Arguments>> && ...)) {
    return static_cast<void>(sizeof(child_needs_arguments_that_can_be_copied<A, Arguments...>)),
           make_child{};
  } else if constexpr (!std::is_constructible_v<A, const std::decay_t<Arguments>&...>) {
    return static_cast<void>(sizeof(actor_is_not_constructible_from<A, Arguments...>)),
           make_child{};
  } else {
    return [from = kept(std::forward<Arguments>(arguments)...)](void* place, const siblings&) {
      std::apply([&](const auto&... each) { ::new (place) A(each...); }, from);
    };
  }
}

}  // namespace detail

/// A child of class A, made from copies of these arguments, which are stored as std::thread stores
/// its arguments. Alternatively a function that returns an A makes it, optionally from its
/// siblings:
///
///   child<worker>("worker", 5, config)
///   child<worker>("worker", [](const siblings& its) { return worker(its.get<store>("store")); })
template <class A, class... Arguments>
[[nodiscard]] child_spec child(std::string name, Arguments&&... arguments) {
  static_assert(std::is_base_of_v<actor, A>, "an actor class derives from troupe::actor");
  if constexpr (sizeof...(Arguments) == 1 &&
                (detail::makes_actor<std::decay_t<Arguments>, A> && ...)) {
    return {std::move(name), detail::actor_type_of<A>,
            detail::make_by<A>(std::decay_t<Arguments>(std::forward<Arguments>(arguments))...)};
  } else {
    return {std::move(name), detail::actor_type_of<A>,
            detail::make_from<A>(std::forward<Arguments>(arguments)...)};
  }
}

/// Which children a supervisor restarts when one terminates.
enum class restart_strategy : std::uint8_t {
  one_for_one,   // only the terminated child
  one_for_all,   // all children
  rest_for_one,  // the terminated child and those started after it
};

/// A supervisor's restart rules: which children it restarts, how often, and after which delay.
struct supervision {
  restart_strategy strategy = restart_strategy::one_for_one;

  /// One restart more than `max_restarts` within this time, and the supervisor stops its children
  /// and fails.
  std::size_t max_restarts = 5;
  duration within = std::chrono::seconds(10);

  /// A child is restarted after `min_backoff`; the delay doubles with each consecutive failure, up
  /// to `max_backoff`. A child that has run for longer than both `max_backoff` and `within` starts
  /// again with `min_backoff`.
  duration min_backoff = std::chrono::milliseconds(10);
  duration max_backoff = std::chrono::seconds(10);
  /// The fraction, from 0 to 1, by which a delay may be shortened at random, so that children do
  /// not all restart at the same time.
  double jitter = 0.2;

  static constexpr auto unlimited = static_cast<std::size_t>(-1);
};

}  // namespace troupe
