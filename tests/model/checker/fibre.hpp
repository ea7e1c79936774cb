// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <functional>

namespace troupe::model {

/// A stack on which one body after another runs, until it suspends itself or is over.
///
/// Threads: all of a process's fibres belong to one. resume() is called from outside of them.
class fibre {
 public:
  explicit fibre(std::size_t stack_bytes);
  fibre(const fibre&) = delete;
  fibre& operator=(const fibre&) = delete;

  /// Gives it a body for the next resume(). It must have none, or be done with it.
  void start(std::function<void()> body);

  /// Goes on with the body until it suspends or is over.
  void resume();

  /// Returns to who called resume(); from within the body.
  void suspend();

  [[nodiscard]] bool busy() const noexcept { return static_cast<bool>(body_); }

 private:
  boost::context::fiber run(boost::context::fiber&& outside);
  void enter_begins();
  void entered(void* fake_stack);
  void leave_begins(void** fake_stack);

  boost::context::stack_context stack_;
  boost::context::fiber inside_;   // where resume() goes on; empty while it runs
  boost::context::fiber outside_;  // where suspend() goes on
  std::function<void()> body_;

  // What the C++ runtime keeps for each thread of exceptions that are being handled.
  struct {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  } exceptions_;
  void swap_exceptions() noexcept;

  // For the sanitizers, which must be told of every change of stacks.
  [[maybe_unused]] const void* outside_bottom_ = nullptr;
  [[maybe_unused]] std::size_t outside_bytes_ = 0;
  [[maybe_unused]] void* outside_fake_stack_ = nullptr;
  [[maybe_unused]] void* tsan_inside_ = nullptr;
  [[maybe_unused]] void* tsan_outside_ = nullptr;
};

}  // namespace troupe::model
