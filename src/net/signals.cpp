// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/signals.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <troupe/base/assert.hpp>
#include <troupe/sync/atomic.hpp>

// A self-pipe: the handler writes the signal's number, and wait() reads it. (Asio's signal_set does
// the same, but its handler reads the descriptor without synchronisation. ThreadSanitizer reports
// that when the signal arrives on another thread than the one that created the set.)

namespace troupe::net {
namespace {

constexpr unsigned char cancelled = 0;  // no signal has this number

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::system_category(), what);
}

/// Both ends are non-blocking. They stay open as long as the process lives, because a handler may
/// be about to write when its signal's earlier action is restored.
struct self_pipe {
  self_pipe() {
    std::array<int, 2> ends;
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) fail("pipe");
    read_end = ends[0];
    write_end = ends[1];
  }

  int read_end;
  int write_end;
};

self_pipe& the_pipe() {
  static self_pipe only;
  return only;
}

atomic<int> handlers_end{-1};  // the write end for the handler; -1 before the first set
atomic<bool> in_use{false};

/// Waits until a byte is readable or a signal was handled, for at most `milliseconds`; -1 means
/// without a bound.
bool readable(int end, int milliseconds) noexcept {
  pollfd one{end, POLLIN, 0};
  return ::poll(&one, 1, milliseconds) > 0;
}

void write_byte(int to, unsigned char byte) noexcept {
  // If the pipe is full, the waiting thread has long been woken.
  while (::write(to, &byte, 1) < 0 && errno == EINTR) {
  }
}

extern "C" void troupe_net_on_signal(int number) {
  const int before = errno;
  // [signal] acquire: pairs with the constructor's release, before which the pipe was created.
  write_byte(handlers_end.load(acquire), static_cast<unsigned char>(number));
  errno = before;
}

}  // namespace

struct signals::state {
  struct caught {
    int number;
    bool repeated;
    struct sigaction before;
  };

  // Returns false, with errno, if the signal cannot be caught.
  bool try_catching(int number, bool repeated) {
    struct sigaction action {};
    action.sa_handler = troupe_net_on_signal;
    action.sa_flags = SA_RESTART;
    ::sigfillset(&action.sa_mask);
    caught one{number, repeated, {}};
    all.reserve(all.size() + 1);
    if (::sigaction(number, &action, &one.before) != 0) return false;
    all.push_back(one);
    return true;
  }

  bool is_repeated(int number) const noexcept {
    for (const caught& one : all) {
      if (one.number == number) return one.repeated;
    }
    return false;
  }

  void give_back() noexcept {
    for (const caught& one : all) ::sigaction(one.number, &one.before, nullptr);
    all.clear();
  }

  std::vector<caught> all;
};

signals::signals(std::initializer_list<int> numbers) : state_(std::make_unique<state>()) {
  // [set] acquire: sees the actions that the previous set has restored; its destructor releases.
  TROUPE_EXPECTS(!in_use.exchange(true, acquire),
                 "net::signals: a process can have only one at a time");
  const self_pipe& pipe = the_pipe();
  // Calls poll() so that wait()'s call is not the first. During the first call of a thread that may
  // block, ThreadSanitizer of GCC 12 sets up its state for the thread's signals, and loses a signal
  // that arrives then.
  unsigned char stale;
  while (readable(pipe.read_end, 0)) std::ignore = ::read(pipe.read_end, &stale, 1);
  handlers_end.store(pipe.write_end, release);  // [signal]

  for (const int number : numbers) {
    if (state_->try_catching(number, false)) continue;
    const int why = errno;
    state_->give_back();
    in_use.store(false, release);  // [set]
    errno = why;
    fail("sigaction");
  }
}

signals::~signals() {
  state_->give_back();
  in_use.store(false, release);  // [set]
}

void signals::repeat(int number) {
  if (!state_->try_catching(number, true)) fail("sigaction");
}

std::optional<int> signals::wait() {
  const int end = the_pipe().read_end;
  unsigned char byte = cancelled;
  while (::read(end, &byte, 1) != 1) readable(end, -1);
  if (byte != cancelled && state_->is_repeated(byte)) return byte;
  for (const state::caught& one : state_->all) {
    if (!one.repeated) ::signal(one.number, SIG_DFL);
  }
  if (byte == cancelled) return std::nullopt;
  return byte;
}

void signals::cancel() noexcept { write_byte(the_pipe().write_end, cancelled); }

}  // namespace troupe::net
