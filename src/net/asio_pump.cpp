// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/asio_pump.hpp>

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <troupe/sync/mutex.hpp>
#include <troupe/sync/thread.hpp>

namespace troupe::net {

namespace asio = boost::asio;

namespace detail {

/// Memory for the single posted handler, so that a wake-up cannot fail for lack of memory.
class block_of_memory {
 public:
  void* allocate(std::size_t bytes) {
    if (taken_ || bytes > bytes_.size()) return ::operator new(bytes);
    taken_ = true;
    return bytes_.data();
  }
  void release(void* block) noexcept {
    if (block != bytes_.data()) return ::operator delete(block);
    taken_ = false;
  }

 private:
  alignas(std::max_align_t) std::array<std::byte, 128> bytes_;
  bool taken_ = false;
};

/// The state that an asio_pump shares with the handler that it has posted. Either of them may end
/// first, and the io_context before both.
///
/// Threads: wake_up() and context_ends() from any thread, the rest from the thread that created it.
class rounds : public std::enable_shared_from_this<rounds> {
 public:
  rounds(asio::io_context& on, troupe::pump& of) : context_(&on), pump_(&of) {
    stays_.emplace(on.get_executor());
  }

  /// Posts a round, unless one is posted. The pump calls it under its locks, so it must not use
  /// Troupe.
  void wake_up();
  /// Returns the io_context if it still exists.
  asio::io_context* pump_ends();
  void context_ends();
  void release_work();

 private:
  template <class T>
  struct allocator;
  struct handler;
  void run();

  const thread_id thread_ = this_thread_id();
  mutex mutex_;                // guards the members below
  asio::io_context* context_;  // null: it has ended
  troupe::pump* pump_;         // null: it has ended
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> stays_;
  bool posted_ = false;
  // Asio releases the block before the handler runs and clears posted_. So whichever thread posts
  // next has exclusive use of it.
  block_of_memory block_;
};

template <class T>
struct rounds::allocator {
  using value_type = T;

  explicit allocator(std::shared_ptr<rounds> whose) noexcept : of(std::move(whose)) {}
  template <class Other>
  allocator(const allocator<Other>& other) noexcept : of(other.of) {}

  T* allocate(std::size_t count) { return static_cast<T*>(of->block_.allocate(count * sizeof(T))); }
  void deallocate(T* block, std::size_t) noexcept { of->block_.release(block); }
  friend bool operator==(const allocator& a, const allocator& b) noexcept { return a.of == b.of; }

  std::shared_ptr<rounds> of;
};

struct rounds::handler {
  using allocator_type = allocator<void>;
  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(of); }
  void operator()() const { of->run(); }

  std::shared_ptr<rounds> of;
};

void rounds::wake_up() {
  const std::lock_guard lock(mutex_);
  if (posted_ || context_ == nullptr) return;
  posted_ = true;
  asio::post(*context_, handler{shared_from_this()});
}

void rounds::run() {
  troupe::pump* now = nullptr;
  {
    const std::lock_guard lock(mutex_);
    posted_ = false;
    now = pump_;
  }
  if (now == nullptr) return;
  try {
    if (this_thread_id() != thread_) {
      throw std::logic_error(
          "a troupe::net::asio_pump was created on a thread other than the one that runs its "
          "io_context: create it on that thread, and run the io_context on no other");
    }
    now->drain_at_most(asio_pump::round);
  } catch (...) {
    wake_up();  // nothing was handled: the next caller continues
    throw;
  }
}

asio::io_context* rounds::pump_ends() {
  const std::lock_guard lock(mutex_);
  pump_ = nullptr;
  stays_.reset();
  return context_;
}

void rounds::context_ends() {
  const std::lock_guard lock(mutex_);
  stays_.reset();
  context_ = nullptr;
}

void rounds::release_work() {
  const std::lock_guard lock(mutex_);
  stays_.reset();
}

/// Each io_context has one. It notifies the pumps when the io_context ends, because messages may
/// still arrive at them.
class watch_for_the_end : public asio::execution_context::service {
 public:
  using key_type = watch_for_the_end;
  static inline asio::execution_context::id id;

  explicit watch_for_the_end(asio::execution_context& of) : service(of) {}

  void add(rounds& one) {
    const std::lock_guard lock(mutex_);
    those_.push_back(&one);
  }
  void remove(rounds& one) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(those_, &one);
  }

 private:
  void shutdown() override {
    const std::lock_guard lock(mutex_);
    for (rounds* each : those_) each->context_ends();
  }

  mutex mutex_;  // guards those_
  std::vector<rounds*> those_;
};

}  // namespace detail

asio_pump::asio_pump(troupe::system& of, asio::io_context& on)
    : rounds_(std::make_shared<detail::rounds>(on, pump_)), pump_(of) {
  pump_.on_wakeup([to = rounds_.get()] { to->wake_up(); });
  asio::use_service<detail::watch_for_the_end>(on).add(*rounds_);
}

asio_pump::~asio_pump() {
  pump_.on_wakeup(nullptr);
  if (asio::io_context* const context = rounds_->pump_ends()) {
    asio::use_service<detail::watch_for_the_end>(*context).remove(*rounds_);
  }
}

void asio_pump::release_work() { rounds_->release_work(); }

}  // namespace troupe::net
