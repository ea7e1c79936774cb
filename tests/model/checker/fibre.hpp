// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <functional>

namespace troupe::model {

/// A stack that runs one body after another. A body runs until it suspends itself or returns.
///
/// Threads: all fibres of a process belong to one thread. resume() is called from outside of them.
class fibre {
 public:
  explicit fibre(std::size_t stack_bytes);
  fibre(const fibre&) = delete;
  fibre& operator=(const fibre&) = delete;

  /// Sets the body for the next resume(). The previous body, if any, must have returned.
  void start(std::function<void()> body);

  /// Runs the body until it suspends itself or returns.
  void resume();

  /// Returns to the caller of resume(). Called from within the body.
  void suspend();

  [[nodiscard]] bool busy() const noexcept { return static_cast<bool>(body_); }

 private:
  boost::context::fiber run(boost::context::fiber&& outside);
  void enter_begins();
  void entered(void* fake_stack);
  void leave_begins(void** fake_stack);

  boost::context::stack_context stack_;
  boost::context::fiber inside_;   // where resume() continues; empty while the body runs
  boost::context::fiber outside_;  // where suspend() continues
  std::function<void()> body_;

  // The C++ runtime's state of each thread for exceptions that are being handled.
  struct {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  } exceptions_;
  void swap_exceptions() noexcept;

  // For the sanitizers, which must be notified of every switch of stacks.
  [[maybe_unused]] const void* outside_bottom_ = nullptr;
  [[maybe_unused]] std::size_t outside_bytes_ = 0;
  [[maybe_unused]] void* outside_fake_stack_ = nullptr;
  [[maybe_unused]] void* tsan_inside_ = nullptr;
  [[maybe_unused]] void* tsan_outside_ = nullptr;
};

}  // namespace troupe::model
