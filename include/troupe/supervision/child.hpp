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
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/actor_type.hpp>

namespace troupe {

/// Determines when a supervisor restarts a child whose termination it did not request.
enum class restart : std::uint8_t {
  on_failure,  // if it terminated abnormally: see is_abnormal()
  always,      // also after stop()
  never,
};

class siblings;

/// Compile error: the arguments of a child cannot be copied, so the child could be started only
/// once. Pass a function that returns a new actor to child() instead. This type is never defined;
/// the error names it.
template <class Actor, class... Arguments>
struct child_needs_arguments_that_can_be_copied;

namespace detail {

using make_child = std::function<void(void* place, const siblings& others)>;

}  // namespace detail

/// Describes how a supervisor starts, restarts and stops one of its children. Created by child().
///
/// Threads: a plain value; copies share the function that makes the child.
class child_spec {
 public:
  child_spec(std::string name, const detail::actor_type& type, detail::make_child make)
      : type_(&type), make_(std::make_shared<const detail::make_child>(std::move(make))) {
    options_.name = std::move(name);
  }

  child_spec& restart_policy(restart when) noexcept {
    restart_policy_ = when;
    return *this;
  }
  /// Sets the time limit for the child's constructor and on_start() together.
  child_spec& start_timeout(duration most) noexcept {
    start_timeout_ = most;
    return *this;
  }
  /// Sets the time limit for the child's termination after stop(), and again after stop_now(). If
  /// the child has not terminated by then, the supervisor abandons it.
  child_spec& stop_timeout(duration most) noexcept {
    stop_timeout_ = most;
    return *this;
  }
  /// Discards the messages in the mailbox, as dead letters, whenever an incarnation ends.
  child_spec& clear_mailbox() noexcept {
    clears_mailbox_ = true;
    return *this;
  }
  /// Sets where the child runs, and the limits of its mailbox. The name in `options` is ignored:
  /// the child keeps its own name.
  child_spec& options(spawn_options options) {
    options.name = std::move(options_.name);
    options_ = std::move(options);
    return *this;
  }

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const detail::actor_type& type() const noexcept { return *type_; }
  [[nodiscard]] const spawn_options& options() const noexcept { return options_; }
  [[nodiscard]] restart restart_policy() const noexcept { return restart_policy_; }
  [[nodiscard]] duration start_timeout() const noexcept { return start_timeout_; }
  [[nodiscard]] duration stop_timeout() const noexcept { return stop_timeout_; }
  [[nodiscard]] bool clears_mailbox() const noexcept { return clears_mailbox_; }
  void make(void* place, const siblings& others) const { (*make_)(place, others); }

 private:
  const detail::actor_type* type_;
  std::shared_ptr<const detail::make_child> make_;
  spawn_options options_;
  restart restart_policy_ = restart::on_failure;
  duration start_timeout_ = std::chrono::seconds(5);
  duration stop_timeout_ = std::chrono::seconds(5);
  bool clears_mailbox_ = false;
};

/// The children of one supervisor, as seen by the functions that create them.
class siblings {
 public:
  struct entry {
    std::string name;
    const detail::actor_type* type;
    address who;
  };

  explicit siblings(std::vector<entry> all) : all_(std::move(all)) {}

  /// Returns a reference to the sibling of this name. That actor may not have been started yet;
  /// messages sent to it wait until it has.
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

/// Describes a child of class A, which is constructed from copies of these arguments; they are
/// stored as std::thread stores its arguments. Instead of arguments, a function that returns an A
/// may be passed. It may take the siblings of the child as its parameter:
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

/// Determines which children a supervisor restarts when one of them terminates.
enum class restart_strategy : std::uint8_t {
  one_for_one,   // only the terminated child
  one_for_all,   // all children
  rest_for_one,  // the terminated child and those started after it
};

/// A supervisor's restart rules: which children it restarts, how often, and after which delay.
struct supervision {
  restart_strategy strategy = restart_strategy::one_for_one;

  /// If there are more than `max_restarts` restarts within this time, the supervisor stops its
  /// children and fails.
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
