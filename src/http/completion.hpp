// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe::http::detail {

/// The reason why a connection fails if its operation will never complete.
class dropped_operation : public std::runtime_error {
 public:
  dropped_operation() : runtime_error("an operation was dropped before it completed") {}
};

/// Returns the message of an exception; null stands for a dropped_operation.
[[nodiscard]] inline std::string reason_of(const std::exception_ptr& why) {
  try {
    if (why == nullptr) throw dropped_operation();
    std::rethrow_exception(why);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown exception";
  }
}

/// A completion handler that cannot be lost: either it runs once, or its object is notified that it
/// never will.
///
/// If the code below throws, it destroys the handler without calling it. A connection that waits
/// for the handler would then never terminate, and would keep its descriptor and its place forever.
///
/// `Call` is called with the object and the results. `Fail` is called with the object and the
/// exception that left `Call`, or with null if the handler is destroyed without being called. The
/// latter can happen while the operation is being started. The caller that starts it gets the
/// exception too.
///
/// Threads:   the loop's.
/// Invariant: a handler that was moved from does nothing.
template <class Object, class Call, class Fail>
class completion {
 public:
  completion(std::shared_ptr<Object> of, Call call, Fail fail) noexcept
      : of_(std::move(of)), call_(std::move(call)), fail_(std::move(fail)) {}
  completion(completion&&) noexcept = default;
  completion& operator=(completion&&) = delete;
  ~completion() {
    if (!of_) return;
    try {
      fail_(*of_, nullptr);
    } catch (...) {
      // No memory is left to report it.
    }
  }

  template <class... Results>
  void operator()(Results... results) {
    const std::shared_ptr<Object> of = std::move(of_);
    try {
      call_(*of, results...);
    } catch (...) {
      fail_(*of, std::current_exception());
    }
  }

 private:
  std::shared_ptr<Object> of_;
  [[no_unique_address]] Call call_;
  [[no_unique_address]] Fail fail_;
};

}  // namespace troupe::http::detail
