// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <vector>

#include <troupe/actor/conductor.hpp>

namespace troupe::net::detail {

/// An object with operations that complete on an io_context.
class waiting_on_context {
 public:
  /// Drops the operations; they never complete.
  virtual void context_ends() noexcept = 0;

 protected:
  ~waiting_on_context() = default;
};

/// An io_context on which simulated sockets complete.
///
/// Threads: the simulation's.
class simulated_context : public boost::asio::execution_context::service {
 public:
  using key_type = simulated_context;
  static inline boost::asio::execution_context::id id;

  /// `runs` calls its handlers; null if the program does that itself.
  explicit simulated_context(boost::asio::execution_context& of,
                             troupe::detail::errand* runs = nullptr)
      : service(of), runs_(runs) {}

  [[nodiscard]] static simulated_context& of(boost::asio::io_context& context) {
    return boost::asio::use_service<simulated_context>(context);
  }

  void add(waiting_on_context& one) { those_.push_back(&one); }
  void remove(waiting_on_context& one) noexcept { std::erase(those_, &one); }

  /// A handler has been posted.
  void wake() noexcept {
    if (runs_ != nullptr) troupe::detail::conductor::here()->schedule(*runs_);
  }

 private:
  void shutdown() override {
    runs_ = nullptr;           // it may already be gone
    while (!those_.empty()) {  // dropping one may remove others
      waiting_on_context* const last = those_.back();
      those_.pop_back();
      last->context_ends();
    }
  }

  troupe::detail::errand* runs_;
  std::vector<waiting_on_context*> those_;
};

}  // namespace troupe::net::detail
