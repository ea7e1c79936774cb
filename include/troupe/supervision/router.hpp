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
#include <troupe/message/envelope.hpp>
#include <troupe/supervision/worker_routes.hpp>

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
/// backpressure. The worker therefore sees the original sender, send() returns the result of the
/// worker's limits, and a sender is suspended for the chosen worker. This requires that all workers
/// are of one class. A timer and async_send() choose the worker at the time of the call.
///
/// A worker that terminates leaves the rotation; one that a supervisor restarts keeps its place.
/// When no worker is left, messages are refused, as dead letters of the router. The handle keeps
/// the workers alive.
///
/// Threads: any; a plain value, whose copies are the same router.
/// Order:   from one sender to one worker, as sent; none between workers. With by_hash, messages
///          with equal keys stay in order.
/// Cost:    send(): as to a worker, plus an indirect call and an atomic addition (with by_hash,
///          computing the key), plus a call for each worker examined; if that is itself a router,
///          for its workers. The router takes the slot of an actor that never runs.
/// Errors:  std::invalid_argument without workers, with an empty reference, or with workers of
///          different classes.
template <message... Messages>
class router {
 public:
  /// `workers`: references or recipients. Their order is kept.
  template <std::ranges::input_range Workers, class Routing>
    requires std::convertible_to<std::ranges::range_reference_t<const Workers>,
                                 recipient<Messages...>>
  router(system& in, const Workers& workers, Routing by) {
    const std::vector<recipient<Messages...>> all(std::ranges::begin(workers),
                                                  std::ranges::end(workers));
    detail::check_workers(all.size(), std::ranges::all_of(all, [&](const auto& each) {
                            return each && table(each) == table(all.front());
                          }));
    workers_ = make(all, std::move(by));
    handle_ = detail::recipient_access::adopt<Messages...>(detail::spawn_router(in, workers_),
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

  /// For code that knows only the messages, not the router.
  [[nodiscard]] const recipient<Messages...>& handle() const noexcept { return handle_; }
  operator recipient<Messages...>() const noexcept { return handle_; }

  template <class Message>
  delivery send(Message&& message) const {
    return handle_.send(std::forward<Message>(message));
  }

  /// Sends a copy to each worker. Returns how many workers accepted it.
  template <class Message>
  std::size_t send_to_all(const Message& message) const {
    if constexpr (!(std::same_as<Message, Messages> || ...)) {
      return static_cast<std::size_t>(sizeof(actor_does_not_understand_message<router, Message>));
    } else {
      std::size_t at = 0;
      (void)((std::same_as<Message, Messages> || (++at, false)) || ...);
      const detail::dispatch& how = *table(handle_)[at];
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

  /// The number of workers given, and the number that have not terminated.
  [[nodiscard]] std::size_t size() const noexcept { return workers_->all().size(); }
  [[nodiscard]] std::size_t living() const noexcept { return workers_->living(); }

 private:
  static const auto& table(const recipient<Messages...>& of) noexcept {
    return detail::recipient_access::table(of);
  }

  // Computes the key of a message, whose type follows from its dispatch record.
  template <class Key>
  class keyed final : public detail::worker_routes {
   public:
    keyed(std::vector<detail::control_block*> held, Key key,
          std::array<const detail::dispatch*, sizeof...(Messages)> table)
        : worker_routes(std::move(held)), key_(std::move(key)), table_(table) {}
    detail::control_block* choose(const detail::envelope& message) const noexcept override {
      std::size_t hash = 0;
      std::size_t at = 0;
      (void)((table_[at++] == message.how && (hash = hash_of<Messages>(message), true)) || ...);
      return by_key(hash);
    }

   private:
    template <class M>
    [[nodiscard]] std::size_t hash_of(const detail::envelope& e) const noexcept {
      const M& message = e.how->wants_sender
                             ? static_cast<const detail::message_envelope<M, true>&>(e).value
                             : static_cast<const detail::message_envelope<M, false>&>(e).value;
      return std::hash<std::remove_cvref_t<decltype(key_(message))>>{}(key_(message));
    }

    const Key key_;
    const std::array<const detail::dispatch*, sizeof...(Messages)> table_;
  };

  static std::vector<detail::control_block*> blocks(const std::vector<recipient<Messages...>>& of) {
    std::vector<detail::control_block*> held;
    held.reserve(of.size());
    for (const auto& each : of) held.push_back(&detail::recipient_access::block(each));
    return held;
  }
  static std::shared_ptr<const detail::worker_routes> make(
      const std::vector<recipient<Messages...>>& all, round_robin) {
    return std::make_shared<detail::in_turns>(blocks(all));
  }
  static std::shared_ptr<const detail::worker_routes> make(
      const std::vector<recipient<Messages...>>& all, least_loaded) {
    return std::make_shared<detail::to_the_least_loaded>(blocks(all));
  }
  template <class Key>
  static std::shared_ptr<const detail::worker_routes> make(
      const std::vector<recipient<Messages...>>& all, by_hash<Key> by) {
    return std::make_shared<keyed<Key>>(blocks(all), std::move(by.key), table(all.front()));
  }

  std::shared_ptr<const detail::worker_routes> workers_;
  recipient<Messages...> handle_;
};

}  // namespace troupe
