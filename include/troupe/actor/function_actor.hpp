// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/monitor.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/actor/told_of_ends.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/address.hpp>

// Actors that are a function: the order of their code says which message they wait for next.

namespace troupe {

class context;

namespace detail {

template <class M>
inline constexpr char message_tag = 0;
using message_id = const char*;

/// A pending receive() of a function actor.
class receiver : public timed_waiter {
 public:
  [[nodiscard]] virtual bool wants(message_id type) const noexcept = 0;
  /// Moves the value out of `message`.
  virtual void put(message_id type, void* message) = 0;

 protected:
  ~receiver() = default;
};

// The result type of receive(): the message, or a variant of several.
template <class... Ms>
struct message_received {
  using type = std::variant<Ms...>;
};
template <class M>
struct message_received<M> {
  using type = M;
};

/// The members of actor that a function actor may use.
class function_base : public actor {
 public:
  using actor::link;
  using actor::system;
  using actor::unlink;
  using actor::unwatch;
  using actor::watch;
};

template <class A>
struct function_choice;

template <class F, class... Ms>
class function_actor;

template <class F>
concept actor_function = requires(F& fn, context& self) {
  { fn(self) } -> std::same_as<task<>>;
};

template <class A, class... Arguments>
inline constexpr bool is_spawned_as_function =
    !std::is_base_of_v<actor, A> && sizeof...(Arguments) != 0 &&
    (actor_function<std::remove_cvref_t<Arguments>> || ...);

}  // namespace detail

/// The result of context::receive(); it must be awaited in the same expression.
template <bool HasTimeout, class... Ms>
class [[nodiscard]] receiving final : detail::receiver {
 public:
  using message = typename detail::message_received<Ms...>::type;
  using result = std::conditional_t<HasTimeout, std::optional<message>, message>;

  receiving(context& of, time_point until) noexcept : of_(of), until_(until) {}
  receiving(const receiving&) = delete;
  receiving& operator=(const receiving&) = delete;
  ~receiving();

  struct awaited {
    receiving* of;
    detail::handler_frame* who;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const { of->wait(*who); }
    [[nodiscard]] result await_resume() const { return of->take(); }
  };
  [[nodiscard]] awaited awaited_by(detail::handler_frame& who) noexcept { return {this, &who}; }

 private:
  [[nodiscard]] bool wants(detail::message_id type) const noexcept override {
    return ((type == &detail::message_tag<Ms>) || ...);
  }
  void put(detail::message_id type, void* value) override {
    (void)((type == &detail::message_tag<Ms> &&
            (got_.emplace(std::move(*static_cast<Ms*>(value))), true)) ||
           ...);
  }
  void wait(detail::handler_frame& who);
  result take() {
    if constexpr (HasTimeout) {
      return std::move(got_);
    } else {
      return std::move(*got_);
    }
  }

  context& of_;
  const time_point until_;
  std::optional<message> got_;
};

/// The interface of a function actor to its actor; the function takes it as its parameter:
///
///   auto greeter = system.spawn<hello, bye>([](troupe::context& self) -> troupe::task<> {
///     for (;;) {
///       // m: std::optional<std::variant<hello, bye>>
///       auto m = co_await self.receive<hello, bye>(5s);
///       if (!m || std::holds_alternative<bye>(*m)) co_return;
///       …
///
/// The actor owns the function with its captures, and terminates as `stopped` when the function
/// returns. An exception that leaves the function fails the actor. Messages that the function does
/// not wait for stay in the mailbox, within its limits, until it does.
///
/// Threads: the turns of the actor.
class context {
 public:
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// Receives a message: `co_await self.receive<M>()` gives the next M, or a std::variant for
  /// several types. Only one receive() may be pending. If there is no possible sender left, a
  /// function that waits here terminates as `unreachable`.
  /// Errors: std::logic_error if the actor was not spawned with one of these types, because the
  ///         function would wait in vain.
  /// Cost:   messages in the mailbox that are not wanted are examined again each time.
  template <class... Ms>
  [[nodiscard]] receiving<false, Ms...> receive() {
    static_assert(sizeof...(Ms) != 0,
                  "receive() needs at least one message type: receive<hello>()");
    ((void)how_(&detail::message_tag<Ms>, "receive"), ...);
    return {*this, time_point::max()};
  }
  /// As above, with a time-out; the result is a std::optional, which is empty if no message came in
  /// time.
  template <class... Ms>
  [[nodiscard]] receiving<true, Ms...> receive(duration timeout) {
    static_assert(sizeof...(Ms) != 0,
                  "receive() needs at least one message type: receive<hello>(50ms)");
    ((void)how_(&detail::message_tag<Ms>, "receive"), ...);
    return {*this, later(clock::now(), timeout)};
  }

  [[nodiscard]] address where() const noexcept { return block_.where(); }
  [[nodiscard]] std::string_view name() const noexcept { return block_.name(); }

  /// Returns a handle with which others can send these messages to this actor.
  /// Errors: std::logic_error if the actor was not spawned with one of these types.
  template <class... Ms>
  [[nodiscard]] troupe::recipient<Ms...> recipient() const {
    const detail::dispatch* const how[] = {how_(&detail::message_tag<Ms>, "recipient")...};
    block_.hold();
    return detail::recipient_access::adopt<Ms...>(&block_, how);
  }

  [[nodiscard]] troupe::system& system() const noexcept { return actor_.system(); }

  /// As actor::watch(), for a ref, a recipient or an address. To be notified, the actor must be
  /// spawned with troupe::down among its messages.
  template <class Other>
  monitor watch(const Other& other) {
    return actor_.watch(other);
  }
  /// As actor::unwatch().
  bool unwatch(const monitor& which) { return actor_.unwatch(which); }

  /// As actor::link() and actor::unlink(). To be notified instead of terminating, the actor must be
  /// spawned with troupe::link_down among its messages.
  template <class Other>
  void link(const Other& other) {
    actor_.link(other);
  }
  void unlink(const address& other) noexcept { actor_.unlink(other); }

 private:
  template <class F, class... Ms>
  friend class detail::function_actor;
  template <class A>
  friend struct detail::function_choice;
  template <bool HasTimeout, class... Ms>
  friend class receiving;
  // `member`: the name of the member function, for the text of the error.
  using look_up = const detail::dispatch* (*)(detail::message_id type, const char* member);

  context(detail::function_base& me, detail::control_block& block, look_up how) noexcept
      : actor_(me), block_(block), how_(how) {}

  detail::function_base& actor_;
  detail::control_block& block_;
  const look_up how_;
  detail::receiver* waits_ = nullptr;
};

template <bool HasTimeout, class... Ms>
receiving<HasTimeout, Ms...>::~receiving() {
  if (of_.waits_ == this) of_.waits_ = nullptr;
}

template <bool HasTimeout, class... Ms>
void receiving<HasTimeout, Ms...>::wait(detail::handler_frame& who) {
  TROUPE_EXPECTS(of_.waits_ == nullptr,
                 "receive() was called while another receive() of the same function waits");
  this->begin(who, until_);
  of_.waits_ = this;
  of_.block_.handle_kept_again();
}

namespace detail {

[[noreturn]] void receives_no_such_message(const char* member, std::string_view actor);

template <class A>
struct function_choice {
  template <class M>
  static constexpr bool handles = A::template takes<M>;
  template <class M>
  static constexpr bool wants_sender = false;
  template <class M>
  using reply = void;

  template <class M>
  static void run(void* actor, envelope& message) {
    auto& me = *static_cast<A*>(actor);
    auto& e = static_cast<message_envelope<M, false>&>(message);
    receiver* const waits = me.context_.waits_;
    if (waits == nullptr || !waits->wants(&message_tag<M>)) {
      struct discard_unless_kept {
        envelope* e;
        ~discard_unless_kept() {
          if (e != nullptr) e->how->discard(*e);
        }
      } guard{&message};
      me.context_.block_.keep(message);
      guard.e = nullptr;
      return;
    }
    const dispatch& how = *message.how;
    is_handled_now<A, M>(message);
    {
      struct free_after {
        message_envelope<M, false>& e;
        ~free_after() { free_envelope(e); }
      } guard{e};
      waits->put(&message_tag<M>, &e.value);
    }
    me.context_.waits_ = nullptr;
    waits->goes_on(how);
  }
};

template <class F, class... Ms>
class function_actor final : public function_base {
 public:
  using handler_choice = function_choice<function_actor>;
  template <class M>
  static constexpr bool takes = (std::same_as<M, Ms> || ...);

  explicit function_actor(F fn)
      : fn_(std::move(fn)), context_(*this, ref_access::block(self(this)), how_to) {}

  void on_start() { handler_result<task<>>::start_function(run()); }

 private:
  friend handler_choice;

  task<> run() {
    co_await fn_(context_);
    stop();
  }

  static const dispatch* how_to(message_id type, const char* member) {
    const dispatch* found = nullptr;
    (void)((type == &message_tag<Ms> && (found = &dispatch_of<function_actor, Ms>, true)) || ...);
    if (found == nullptr) receives_no_such_message(member, type_name<F>());
    return found;
  }

  F fn_;
  context context_;
};

}  // namespace detail
}  // namespace troupe
