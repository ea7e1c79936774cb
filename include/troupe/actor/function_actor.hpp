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
#include <troupe/actor/reply.hpp>
#include <troupe/actor/request.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/termination_messages.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/message_or_request.hpp>

// Actors that are a function: the order of their code says which message they wait for next.

namespace troupe {

class context;

/// A request as a function actor receives it: the message, and the reply that it owes. If it is
/// destroyed without a reply, the requester gets ask_error::unanswered.
template <message M, class R>
struct received_request {
  M message;
  reply<R> owed;
};

namespace detail {

template <class Item>
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

// The type that receive() gives for one item of the list.
template <class Item>
struct item_received {
  using type = Item;
};
template <class R, class M>
struct item_received<R(M)> {
  using type = received_request<M, R>;
};

// The result type of receive(): what one item gives, or a variant of several.
template <class... Items>
struct message_received {
  using type = std::variant<typename item_received<Items>::type...>;
};
template <class Item>
struct message_received<Item> {
  using type = typename item_received<Item>::type;
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
            (got_.emplace(
                 std::move(*static_cast<typename detail::item_received<Ms>::type*>(value))),
             true)) ||
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

/// The parameter of a function actor, with which the function receives messages and uses its actor:
///
///   auto greeter = system.spawn<hello, bye>([](troupe::context& self) -> troupe::task<> {
///     for (;;) {
///       // m: std::optional<std::variant<hello, bye>>
///       auto m = co_await self.receive<hello, bye>(5s);
///       if (!m || std::holds_alternative<bye>(*m)) co_return;
///       …
///
/// The actor owns the function with its captures, and terminates as `stopped` when the function
/// returns. An exception that leaves the function fails the actor. Messages for which the function
/// does not wait yet stay in the mailbox, within its limits, until the function waits for them.
///
/// A request is listed with the type of its reply, `long(get_balance)`, both in spawn() and in
/// receive():
///
///   auto bank = system.spawn<deposit, long(get_balance)>(…);
///   …
///   auto asked = co_await self.receive<long(get_balance)>();
///   asked.owed.set_value(balance);
///
/// Threads: the turns of the actor.
class context {
 public:
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// Receives a message: `co_await self.receive<M>()` gives the next M, or a std::variant for
  /// several types. An R(M) gives a received_request<M, R>. Only one receive() may be pending. If
  /// no possible sender is left while the function waits here, the actor terminates as
  /// `unreachable`.
  /// Errors: std::logic_error if the actor was not spawned with one of these types, because the
  ///         function would wait in vain.
  /// Cost:   each call examines all waiting messages of other types again.
  template <class... Ms>
  [[nodiscard]] receiving<false, Ms...> receive() {
    static_assert(sizeof...(Ms) != 0,
                  "receive() needs at least one message type: receive<hello>()");
    ((void)how_(&detail::message_tag<Ms>, "receive"), ...);
    return {*this, time_point::max()};
  }
  /// Receives a message with a time-out; the result is a std::optional, which is empty if no
  /// message arrived in time.
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

  /// Monitors another actor, given by a ref, a recipient or an address, as actor::watch() does. The
  /// function actor must be spawned with troupe::down among its messages.
  template <class Other>
  monitor watch(const Other& other) {
    return actor_.watch(other);
  }
  /// Ends a monitor, as actor::unwatch() does.
  bool unwatch(const monitor& which) { return actor_.unwatch(which); }

  /// Links the actor with another one, or removes the link, as actor::link() and actor::unlink()
  /// do. To be notified instead of terminating, the actor must be spawned with troupe::link_down
  /// among its messages.
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
  static constexpr bool handles = A::template takes<M> || A::template is_asked<M>;
  template <class M>
  static constexpr bool wants_sender = false;
  template <class M>
  using reply = typename A::template reply_to<M>;

  template <class M>
  static void run(void* actor, envelope& message) {
    auto& me = *static_cast<A*>(actor);
    auto& e = static_cast<message_envelope<M, false>&>(message);
    receiver* const waits = me.context_.waits_;
    if (waits == nullptr || !waits->wants(&message_tag<M>)) return keep(me, message);
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

  template <class M>
  static void run_request(void* actor, envelope& message) {
    using R = reply<M>;
    auto& me = *static_cast<A*>(actor);
    auto& asked = static_cast<request_of<M, R>&>(message);
    receiver* const waits = me.context_.waits_;
    if (waits == nullptr || !waits->wants(&message_tag<R(M)>)) return keep(me, message);
    const dispatch& how = *message.how;
    {
      // The block may become the reply while the function continues.
      unless_answered guard{&asked};
      received_request<M, R> got{std::move(asked.message), {}};
      asked.empty();
      guard.asked = nullptr;
      got.owed = reply_access::owed<R>(asked);
      waits->put(&message_tag<R(M)>, &got);
    }
    me.context_.waits_ = nullptr;
    waits->goes_on(how);
  }

 private:
  // It stays in the mailbox until the function waits for it.
  static void keep(A& me, envelope& message) {
    struct discard_unless_kept {
      envelope* e;
      ~discard_unless_kept() {
        if (e != nullptr) e->how->discard(*e);
      }
    } guard{&message};
    me.context_.block_.keep(message);
    guard.e = nullptr;
  }
};

// The type of the reply to a request of the list; void for none.
template <class Item>
struct reply_to_item {
  using type = void;
};
template <class R, class M>
struct reply_to_item<R(M)> {
  using type = R;
};

template <class F, class... Ms>
class function_actor final : public function_base {
 public:
  using handler_choice = function_choice<function_actor>;
  template <class M>
  static constexpr bool takes = lists_item<M, Ms...>;
  template <class M>
  static constexpr bool is_asked = !std::is_void_v<typename request_in_list<M, Ms...>::type>;
  template <class M>
  using reply_to = typename reply_to_item<typename request_in_list<M, Ms...>::type>::type;

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
    (void)((type == &message_tag<Ms> && (found = &record_of<Ms>(), true)) || ...);
    if (found == nullptr) receives_no_such_message(member, type_name<F>());
    return found;
  }

  template <class Item>
  static const dispatch& record_of() noexcept {
    if constexpr (request_signature<Item>) {
      return request_dispatch_of<function_actor, typename listed_item<Item>::message_type>;
    } else {
      return dispatch_of<function_actor, Item>;
    }
  }

  F fn_;
  context context_;
};

}  // namespace detail
}  // namespace troupe
