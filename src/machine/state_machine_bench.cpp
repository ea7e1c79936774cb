// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a state machine: a message that changes nothing, compared with the same
// message in an actor without states; a change of state, in one level and through four; with a time
// limit armed and disarmed. A machine sends the messages to itself. Prints nanoseconds per message,
// and allocations: all lines except the first should say 0.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <troupe/troupe.hpp>

namespace {

using namespace std::chrono_literals;

std::uint64_t allocations() noexcept;

struct turn {
  std::uint64_t left;
};

/// A measurement within one actor: from the first message to the last.
class stop_watch {
 public:
  void begin(std::uint64_t messages) noexcept {
    messages_ = messages;
    allocated_ = allocations();
    began_ = troupe::clock::now();
  }
  void report(const char* what) const noexcept {
    const std::chrono::duration<double, std::nano> took = troupe::clock::now() - began_;
    const auto allocated = static_cast<double>(allocations() - allocated_);
    const auto messages = static_cast<double>(messages_);
    std::printf("%-40s %8.2f ns %10.4f allocations\n", what, took.count() / messages,
                allocated / messages);
  }

 private:
  std::uint64_t messages_ = 0;
  std::uint64_t allocated_ = 0;
  troupe::time_point began_;
};

class plain : public troupe::actor {
 public:
  void on(turn m) {
    if (m.left == all) watch_.begin(m.left);
    if (m.left == 0) {
      watch_.report("an actor without states");
      stop();
    } else {
      self(this).send(turn{m.left - 1});
    }
  }

  static inline std::uint64_t all = 0;

 private:
  stop_watch watch_;
};

template <class Self>
class measured : public troupe::state_machine<Self> {
 public:
  static inline std::uint64_t all = 0;

 protected:
  void next(turn m, const char* what) {
    if (m.left == all) watch_.begin(m.left);
    if (m.left == 0) {
      watch_.report(what);
      this->stop();
    } else {
      this->self(static_cast<Self*>(this)).send(turn{m.left - 1});
    }
  }

 private:
  stop_watch watch_;
};

class staying : public measured<staying> {
 public:
  struct only : state {};
  using states = troupe::states<only>;
  using messages = troupe::messages<turn>;
  void on(only, turn m) { next(m, "a machine that stays"); }
};

class toggling : public measured<toggling> {
 public:
  struct a : state {};
  struct b : state {};
  using states = troupe::states<a, b>;
  using messages = troupe::messages<turn>;
  to<b> on(a, turn m) { return next(m, "a change of state"), b{}; }
  to<a> on(b, turn m) { return next(m, "a change of state"), a{}; }
};

class acting : public measured<acting> {
 public:
  struct a : state {};
  struct b : state {};
  using states = troupe::states<a, b>;
  using messages = troupe::messages<turn>;
  to<b> on(a, turn m) { return next(m, "a change with entry and exit"), b{}; }
  to<a> on(b, turn m) { return next(m, "a change with entry and exit"), a{}; }
  void on_enter(a) { ++entered_; }
  void on_enter(b) { ++entered_; }
  void on_exit(a) { ++left_; }
  void on_exit(b) { ++left_; }

 private:
  std::uint64_t entered_ = 0;
  std::uint64_t left_ = 0;
};

class deep : public measured<deep> {
 public:
  struct a1 : state {};
  struct a2 : in<a1> {};
  struct a3 : in<a2> {};
  struct a4 : in<a3> {};
  struct b1 : state {};
  struct b2 : in<b1> {};
  struct b3 : in<b2> {};
  struct b4 : in<b3> {};
  using states = troupe::states<a1, a2, a3, a4, b1, b2, b3, b4>;
  using messages = troupe::messages<turn>;
  to<b4> on(a4, turn m) { return next(m, "a change through four levels"), b4{}; }
  to<deep_history<a1>> on(b4, turn m) {
    return next(m, "a change through four levels"), deep_history<a1>{};
  }
};

class limited : public measured<limited> {
 public:
  struct a : state {};
  struct b : state {};
  using states = troupe::states<a, b>;
  using messages = troupe::messages<turn>;
  static constexpr troupe::duration limit(a) { return 1h; }
  to<b> on(a, time_limit) { return {}; }
  to<b> on(a, turn m) { return next(m, "a time limit armed every other time"), b{}; }
  to<a> on(b, turn m) { return next(m, "a time limit armed every other time"), a{}; }
};

template <class A>
void run(std::uint64_t messages) {
  A::all = messages;
  troupe::system system{{.workers = 1}};
  const auto a = system.spawn<A>();
  a.send(turn{messages});
  a.join();
}

std::uint64_t allocated = 0;  // by one worker; the others rest while it is read

std::uint64_t allocations() noexcept { return allocated; }

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocated;
  if (void* const block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::string_view(arguments[1]) == "--smoke";
  const std::uint64_t messages = smoke ? 10'000 : 10'000'000;
  run<plain>(messages);
  run<staying>(messages);
  run<toggling>(messages);
  run<acting>(messages);
  run<deep>(messages);
  run<limited>(messages / 10);
}
