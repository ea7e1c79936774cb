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

/// When a child is restarted whose end its supervisor has not asked for.
enum class restart : std::uint8_t {
  on_failure,  // if it ended abnormally: see is_abnormal()
  always,      // also if it was told to stop()
  never,
};

class siblings;

/// Never defined. The compiler names it for a child whose arguments cannot be copied, so that it could
/// be started only once: give child() a function that returns a new actor.
template <class Actor, class... Arguments>
struct child_needs_arguments_that_can_be_copied;

namespace detail {

using make_child = std::function<void(void* place, const siblings& others)>;

}  // namespace detail

/// How a supervisor starts one of its children, again and again, and how it stops it. Made by child().
///
/// Threads: a plain value; copies share what they start the child from.
class child_spec {
 public:
  child_spec(std::string name, const detail::actor_type& type, detail::make_child make)
      : type_(&type), make_(std::make_shared<const detail::make_child>(std::move(make))) {
    options_.name = std::move(name);
  }

  child_spec& restarted(restart when) noexcept {
    when_ = when;
    return *this;
  }
  /// The longest that its constructor and on_start() may take together.
  child_spec& starts_within(duration most) noexcept {
    start_most_ = most;
    return *this;
  }
  /// The longest that it may take to end after stop(); then after stop_now(); then it is left behind.
  child_spec& stops_within(duration most) noexcept {
    stop_most_ = most;
    return *this;
  }
  /// Whenever its object ends, what is in its mailbox is discarded as dead letters.
  child_spec& forgets_mailbox() noexcept {
    forgets_mailbox_ = true;
    return *this;
  }
  /// Where it runs, and its limits. The name is that of the child.
  child_spec& spawned(spawn_options options) {
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

/// The children of one supervisor, for the functions that make them.
class siblings {
 public:
  struct entry {
    std::string name;
    const detail::actor_type* type;
    address who;
  };

  explicit siblings(std::vector<entry> all) : all_(std::move(all)) {}

  /// That child: also one that has not been started yet; what it is sent waits until it has.
  /// Errors: std::logic_error if there is no child of that name and class, or it has ended for good.
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

// Built where it stays: what the function returns is not moved.
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

/// A child of class A that is made from copies of these arguments, which are kept as std::thread keeps
/// its own; or by a function that returns an A, maybe from its siblings:
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

/// Who is restarted when one has ended.
enum class restart_strategy : std::uint8_t {
  one_for_one,   // only the one that has ended
  one_for_all,   // all
  rest_for_one,  // it, and those that were started after it
};

/// Whom a supervisor restarts, how often, and how soon.
struct supervision {
  restart_strategy strategy = restart_strategy::one_for_one;

  /// One more within that time, and the supervisor stops its children and ends as failed.
  std::size_t max_restarts = 5;
  duration within = std::chrono::seconds(10);

  /// A child is restarted after `min_backoff`, and each time in a row after twice as long, up to
  /// `max_backoff`. One that has run for longer than `max_backoff` and `within` begins anew.
  duration min_backoff = std::chrono::milliseconds(10);
  duration max_backoff = std::chrono::seconds(10);
  /// By so much of it the time is shorter at random, so that not all come back at once: 0 to 1.
  double jitter = 0.2;

  static constexpr auto unlimited = static_cast<std::size_t>(-1);
};

}  // namespace troupe
