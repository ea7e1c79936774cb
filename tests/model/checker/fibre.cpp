// SPDX-License-Identifier: Apache-2.0
#include "fibre.hpp"

#include <cxxabi.h>

#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/preallocated.hpp>
#include <cstring>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TROUPE_MODEL_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TROUPE_MODEL_ASAN
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TROUPE_MODEL_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TROUPE_MODEL_TSAN
#endif
#endif

#ifdef TROUPE_MODEL_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TROUPE_MODEL_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace troupe::model {

// The stack comes from malloc, so that memory that an abandoned stack refers to is not reported as
// leaked.
fibre::fibre(std::size_t stack_bytes)
    : stack_(boost::context::fixedsize_stack(stack_bytes).allocate()) {
#ifdef TROUPE_MODEL_TSAN
  tsan_inside_ = __tsan_create_fiber(0);
#endif
  inside_ = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(stack_.sp, stack_.size, stack_),
      boost::context::fixedsize_stack(stack_bytes),
      [this](boost::context::fiber&& outside) { return run(std::move(outside)); });
}

void fibre::start(std::function<void()> body) { body_ = std::move(body); }

void fibre::resume() {
  swap_exceptions();
  enter_begins();
  inside_ = std::move(inside_).resume();
#ifdef TROUPE_MODEL_ASAN
  __sanitizer_finish_switch_fiber(outside_fake_stack_, nullptr, nullptr);
#endif
  swap_exceptions();
}

void fibre::suspend() {
  void* fake_stack = nullptr;
  leave_begins(&fake_stack);
  outside_ = std::move(outside_).resume();
  entered(fake_stack);
}

boost::context::fiber fibre::run(boost::context::fiber&& outside) {
  outside_ = std::move(outside);
  entered(nullptr);
  for (;;) {
    body_();
    body_ = nullptr;
    suspend();
  }
}

void fibre::enter_begins() {
#ifdef TROUPE_MODEL_ASAN
  __sanitizer_start_switch_fiber(&outside_fake_stack_,
                                 static_cast<const char*>(stack_.sp) - stack_.size, stack_.size);
#endif
#ifdef TROUPE_MODEL_TSAN
  tsan_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_inside_, 0);
#endif
}

void fibre::entered([[maybe_unused]] void* fake_stack) {
#ifdef TROUPE_MODEL_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, &outside_bottom_, &outside_bytes_);
#endif
}

void fibre::leave_begins([[maybe_unused]] void** fake_stack) {
#ifdef TROUPE_MODEL_ASAN
  __sanitizer_start_switch_fiber(fake_stack, outside_bottom_, outside_bytes_);
#endif
#ifdef TROUPE_MODEL_TSAN
  __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
}

void fibre::swap_exceptions() noexcept {
  static_assert(sizeof(exceptions_) == 16, "as the Itanium C++ ABI lays out __cxa_eh_globals");
  auto* const current = reinterpret_cast<decltype(&exceptions_)>(abi::__cxa_get_globals());
  std::swap(*current, exceptions_);
}

}  // namespace troupe::model
