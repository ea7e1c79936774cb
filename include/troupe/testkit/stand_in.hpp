// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/testkit/question.hpp>

// The actor of a probe or a stub. It passes everything that it receives to the object of the test.

namespace troupe::testkit::detail {

/// Receives what the actor gets.
///
/// Threads: take() and ended() are called in the actor's turns; closed() in its last turn.
template <class... Items>
class taker {
 public:
  virtual void take(std::variant<Items...>&& what) = 0;
  virtual void ended(down&& what) = 0;
  virtual void closed() noexcept = 0;

 protected:
  ~taker() = default;
};

template <class Self, class Item>
class takes {
 public:
  void on(Item m) { static_cast<Self*>(this)->take(std::move(m)); }
};
template <class Self, class M, class R>
class takes<Self, question<M, R>> {
 public:
  void on(M m, troupe::reply<R> owed) {
    static_cast<Self*>(this)->take(question<M, R>{std::move(m), std::move(owed)});
  }
};

template <class... Items>
class stand_in final : public actor, public takes<stand_in<Items...>, Items>... {
  static_assert(sizeof...(Items) > 0, "name at least one message");
  static_assert(are_distinct<Items...>, "a message type is listed twice");
  static_assert((!std::is_same_v<Items, down> && ...),
                "troupe::down cannot be listed: watch() the actor and use expect_end()");

 public:
  /// Asks it to watch an actor.
  struct watch_order {
    std::function<void(stand_in&)> watch;
  };

  explicit stand_in(std::shared_ptr<taker<Items...>> by) : by_(std::move(by)) {}
  stand_in(const stand_in&) = delete;
  stand_in& operator=(const stand_in&) = delete;
  ~stand_in() { by_->closed(); }

  using takes<stand_in, Items>::on...;
  void on(down d) { by_->ended(std::move(d)); }
  bool on(watch_order order) {
    order.watch(*this);
    return true;
  }

  template <class Item>
  void take(Item&& m) {
    by_->take(std::variant<Items...>(std::in_place_type<std::remove_cvref_t<Item>>,
                                     std::forward<Item>(m)));
  }
  template <class Other>
  void watches(const Other& other) {
    static_cast<void>(this->watch(other));
  }

 private:
  const std::shared_ptr<taker<Items...>> by_;
};

}  // namespace troupe::testkit::detail
