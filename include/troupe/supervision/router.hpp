// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <utility>
#include <vector>

#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/supervision/worker_routes.hpp>
#include <troupe/message/message_or_request.hpp>

namespace troupe {

/// Routes each message to the next worker in turn.
struct round_robin {};

/// Routes each message to the worker with the lowest load: the least loaded of up to eight workers,
/// and of more workers the less loaded of two chosen at random. The number of waiting messages is
/// known only for workers spawned with limits; other workers count only as idle or busy.
struct least_loaded {};

/// Routes each message to a worker chosen by a key: equal keys go to the same worker as long as it
/// lives. `Key` is called with each message and returns a value that std::hash accepts. It runs
/// concurrently on the sending threads and must not throw: an exception terminates the process.
template <class Key>
struct by_hash {
  Key key;
};
template <class Key>
by_hash(Key) -> by_hash<Key>;

/// Distributes the messages sent to one recipient among several workers:
///
///   troupe::router<job> pool(system, workers, troupe::least_loaded{});    // a vector of refs
///   auto same = troupe::router<job>::spawn<worker>(system, 4, troupe::round_robin{}, arguments…);
///   hand_to(pool.handle());                                               // a recipient<job>
///
/// send() chooses the worker on the sender's thread and puts the message directly into the worker's
/// mailbox. There is no actor in between, which would add a queue and a turn, and would break
/// backpressure. A request, listed as `R(M)`, goes to one worker in the same way, and the worker's
/// reply goes to the requester. The worker therefore sees the original sender, send() returns the
/// result of the worker's limits, and a sender is suspended for the chosen worker. This requires
/// that all workers are of one class. A timer and async_send() choose the worker at the time of the
/// call.
///
/// A worker that terminates leaves the rotation; one that a supervisor restarts keeps its place.
/// When no worker is left, messages are refused, as dead letters of the router. The handle keeps
/// the workers alive.
///
/// Threads: any; a plain value, whose copies are the same router.
/// Order:   from one sender to one worker, as sent; none between workers. With by_hash, messages
///          with equal keys stay in order.
/// Cost:    send(): that of sending to a worker, an indirect call, and an atomic addition (with
///          by_hash: computing the key instead). In addition, a call for each examined worker; if a
///          worker is itself a router, a call for each of its workers. The router takes the slot of
///          an actor that never runs.
/// Errors:  std::invalid_argument without workers, with an empty reference, or with workers of
///          different classes.
template <message_or_request... Items>
class router {
 public:
  /// `workers`: references or recipients. Their order is kept.
  template <std::ranges::input_range Workers, class Routing>
    requires std::convertible_to<std::ranges::range_reference_t<const Workers>, recipient<Items...>>
  router(system& in, const Workers& workers, Routing by) {
    const std::vector<recipient<Items...>> all(std::ranges::begin(workers),
                                               std::ranges::end(workers));
    detail::check_workers(all.size(), std::ranges::all_of(all, [&](const auto& each) {
                            return each && table(each) == table(all.front());
                          }));
    workers_ = make(all, std::move(by));
    handle_ = detail::recipient_access::adopt<Items...>(detail::spawn_router(in, workers_),
                                                        table(all.front()).data());
  }

  /// Spawns `count` workers, each with copies of the arguments, which may begin with spawn_options.
  /// Throws as system::spawn() does, and then terminates the workers already spawned.
  template <class Worker, class Routing, class... Arguments>
  [[nodiscard]] static router spawn(system& in, std::size_t count, Routing by,
                                    const Arguments&... arguments) {
    std::vector<ref<Worker>> workers;
    workers.reserve(count);
    while (workers.size() < count) workers.push_back(in.spawn<Worker>(arguments...));
    return router(in, workers, std::move(by));
  }

  /// Returns a recipient for senders that need not know about the router.
  [[nodiscard]] const recipient<Items...>& handle() const noexcept { return handle_; }
  operator recipient<Items...>() const noexcept { return handle_; }

  template <class Message>
  delivery send(Message&& message) const {
    return handle_.send(std::forward<Message>(message));
  }

  /// Sends a request to one worker, as recipient::ask() does.
  template <class Named = void, class... Parts>
  auto ask(duration timeout, Parts&&... parts) const {
    return handle_.template ask<Named>(timeout, std::forward<Parts>(parts)...);
  }

  /// Sends a copy to each worker. Returns how many workers accepted it.
  template <class Message>
  std::size_t send_to_all(const Message& message) const {
    if constexpr (!detail::lists_item<Message, Items...>) {
      return static_cast<std::size_t>(sizeof(detail::not_sendable<router, Message, Items...>));
    } else {
      const detail::dispatch& how = *table(handle_)[detail::place_in_list<Message, Items...>()];
      std::size_t taken = 0;
      for (detail::control_block* const each : workers_->all()) {
        if (each->is_closed_behind()) continue;
        const delivery became = how.wants_sender ? detail::post<true>(*each, how, message)
                                                 : detail::post<false>(*each, how, message);
        if (became == delivery::accepted || became == delivery::paused) ++taken;
      }
      return taken;
    }
  }

  /// Return the number of all workers, and of those that have not terminated.
  [[nodiscard]] std::size_t size() const noexcept { return workers_->all().size(); }
  [[nodiscard]] std::size_t living() const noexcept { return workers_->living(); }

 private:
  static const auto& table(const recipient<Items...>& of) noexcept {
    return detail::recipient_access::table(of);
  }

  // Computes the key of a message, whose type follows from its dispatch record.
  template <class Key>
  class keyed final : public detail::worker_routes {
   public:
    keyed(std::vector<detail::control_block*> held, Key key,
          std::array<const detail::dispatch*, sizeof...(Items)> table)
        : worker_routes(std::move(held)), key_(std::move(key)), table_(table) {}
    detail::control_block* choose(const detail::envelope& message) const noexcept override {
      std::size_t hash = 0;
      std::size_t at = 0;
      (void)((table_[at++] == message.how && (hash = hash_of<Items>(message), true)) || ...);
      return by_key(hash);
    }

   private:
    template <class Item>
    [[nodiscard]] std::size_t hash_of(const detail::envelope& e) const noexcept {
      const auto& message = message_in<Item>(e);
      return std::hash<std::remove_cvref_t<decltype(key_(message))>>{}(key_(message));
    }
    template <class Item>
    static const auto& message_in(const detail::envelope& e) noexcept {
      using item = detail::listed_item<Item>;
      using M = typename item::message_type;
      if constexpr (item::is_request) {
        return static_cast<const detail::request_of<M, typename item::reply_type>&>(e).message;
      } else {
        return e.how->wants_sender
                   ? static_cast<const detail::message_envelope<M, true>&>(e).value
                   : static_cast<const detail::message_envelope<M, false>&>(e).value;
      }
    }

    const Key key_;
    const std::array<const detail::dispatch*, sizeof...(Items)> table_;
  };

  static std::vector<detail::control_block*> blocks(const std::vector<recipient<Items...>>& of) {
    std::vector<detail::control_block*> held;
    held.reserve(of.size());
    for (const auto& each : of) held.push_back(&detail::recipient_access::block(each));
    return held;
  }
  static std::shared_ptr<const detail::worker_routes> make(
      const std::vector<recipient<Items...>>& all, round_robin) {
    return std::make_shared<detail::in_turns>(blocks(all));
  }
  static std::shared_ptr<const detail::worker_routes> make(
      const std::vector<recipient<Items...>>& all, least_loaded) {
    return std::make_shared<detail::to_the_least_loaded>(blocks(all));
  }
  template <class Key>
  static std::shared_ptr<const detail::worker_routes> make(
      const std::vector<recipient<Items...>>& all, by_hash<Key> by) {
    return std::make_shared<keyed<Key>>(blocks(all), std::move(by.key), table(all.front()));
  }

  std::shared_ptr<const detail::worker_routes> workers_;
  recipient<Items...> handle_;
};

}  // namespace troupe
