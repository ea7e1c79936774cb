// SPDX-License-Identifier: Apache-2.0
#include "lab/websocket/load.hpp"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <stdexcept>
#include <utility>

#include "lab/lightness/processes.hpp"
#include "src/http/frames.hpp"

namespace troupe::lab {

namespace {

using namespace http::detail;
using steady = std::chrono::steady_clock;
using event = frame_parser::event;

constexpr std::uint64_t patience_ns = 20'000'000'000;
constexpr std::size_t message_bytes_max = std::size_t{16} * 1024 * 1024;
constexpr std::size_t read_bytes = std::size_t{256} * 1024;
// Unpredictable keys protect intermediaries between a browser and a server. This load has no
// intermediaries.
constexpr mask_key key{0x37, 0x5a, 0x21, 0x6d};

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(steady::now().time_since_epoch()).count());
}

double cpu_s_of_this_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns letters, digits, and a character beyond ASCII, as in messages of users.
std::string message_of(std::size_t bytes) {
  constexpr std::string_view text = "A message, as long as it is said to be: naïve, 10 €. ";
  std::string made;
  while (made.size() + text.size() <= bytes) made += text;
  made.append(bytes - made.size(), '.');
  return made;
}

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace

// ── Connections ───────────────────────────────────────────────────────────────────────────────

load::epoll::epoll() : descriptor_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (descriptor_ < 0) refuse(errno, "cannot create an epoll instance");
}

load::epoll::~epoll() { ::close(descriptor_); }

load::client::client(wire over) : line(std::move(over)), parser(role::client, message_bytes_max) {}

load::load(std::uint16_t port, bool tls, std::size_t connections, processor_time of_server)
    : context_(tls ? make_client_context() : nullptr),
      of_server_(std::move(of_server)),
      buffer_(read_bytes) {
  clients_.reserve(connections);
  for (std::size_t i = 0; i < connections; ++i) open(port, context_.get());
}

void load::open(std::uint16_t port, SSL_CTX* context) {
  client& one = clients_.emplace_back(wire(port, context));
  upgrade(one);
  one.line.stop_blocking();
  watch(clients_.size() - 1, false, true);
}

void load::upgrade(client& one) {
  std::string_view request =
      "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  while (!request.empty()) {
    const std::size_t n = one.line.write(request);
    expect(n > 0, "the server does not read the request");
    request.remove_prefix(n);
  }
  std::string answer;
  std::size_t end;
  while ((end = answer.find("\r\n\r\n")) == std::string::npos) {
    const std::size_t n = one.line.read(buffer_);
    expect(n > 0 && answer.size() < 16 * 1024, "the server does not answer a WebSocket request");
    answer.append(buffer_.data(), n);
  }
  if (answer.compare(8, 5, " 101 ") != 0) {
    throw std::runtime_error("the server refuses a WebSocket: " +
                             answer.substr(0, answer.find('\r')));
  }
  one.unread = answer.substr(end + 4);
}

void load::watch(std::size_t index, bool writing, bool anew) {
  epoll_event what{};
  what.events = EPOLLIN | (writing ? std::uint32_t{EPOLLOUT} : 0U);
  what.data.u64 = index;
  if (::epoll_ctl(events_.descriptor(), anew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
                  clients_[index].line.descriptor(), &what) != 0) {
    refuse(errno, "a connection cannot be added to epoll");
  }
}

void load::say(client& one, std::string_view frames) {
  if (one.unsent.empty()) frames.remove_prefix(one.line.write(frames));
  if (frames.empty()) return;
  const bool is_watched = !one.unsent.empty();
  one.unsent += frames;
  if (!is_watched) watch(static_cast<std::size_t>(&one - clients_.data()), true, false);
}

void load::flush(client& one) {
  one.unsent.erase(0, one.line.write(one.unsent));
  if (one.unsent.empty()) watch(static_cast<std::size_t>(&one - clients_.data()), false, false);
}

// Reads all available data; calls heard() for each message.
template <class Heard>
void load::receive(client& one, const Heard& heard) {
  for (;;) {
    const std::size_t before = one.unread.size();
    std::copy(one.unread.begin(), one.unread.end(), buffer_.begin());
    const std::size_t read = one.line.read(std::span(buffer_).subspan(before));
    if (read == 0) return;
    std::span<char> bytes(buffer_.data(), before + read);
    for (bool goes_on = true; goes_on;) {
      switch (one.parser.next(bytes)) {
        case event::text:
          heard(one, one.parser.payload());
          break;
        case event::ping: {
          std::string pong;
          append_frame(pong, opcode::pong, one.parser.payload(), key);
          say(one, pong);
          ++pings_;
          break;
        }
        case event::more:
          goes_on = false;
          break;
        case event::pong:
          break;
        case event::binary:
          throw std::runtime_error("the server sends binary data");
        case event::close:
          throw std::runtime_error(
              "the server closes a WebSocket: " + std::to_string(one.parser.code()) + " " +
              std::string(one.parser.payload()));
        case event::violation:
          throw std::runtime_error("the server violates the WebSocket protocol: " +
                                   std::string(one.parser.payload()));
      }
    }
    one.unread.assign(bytes.data(), bytes.size());
    if (!one.line.keeps_what_was_read()) return;
  }
}

// Serves the clients that are ready; calls done() after all available data of one client.
template <class Heard, class Done>
void load::look(int timeout_ms, const Heard& heard, const Done& done) {
  std::array<epoll_event, 256> ready;
  const int n =
      ::epoll_wait(events_.descriptor(), ready.data(), static_cast<int>(ready.size()), timeout_ms);
  if (n < 0 && errno != EINTR) refuse(errno, "epoll_wait");
  for (int i = 0; i < n; ++i) {
    const epoll_event& each = ready[static_cast<std::size_t>(i)];
    client& one = clients_[each.data.u64];
    if ((each.events & EPOLLOUT) != 0) flush(one);
    if ((each.events & ~std::uint32_t{EPOLLOUT}) == 0) continue;
    receive(one, heard);
    done(one);
  }
}

// ── Loads ─────────────────────────────────────────────────────────────────────────────────────

std::string load::frames_of(std::size_t bytes, std::size_t count) const {
  std::string made;
  for (std::size_t i = 0; i < count; ++i) append_frame(made, opcode::text, message_of(bytes), key);
  return made;
}

window load::begin_window() const {
  window begun;
  begun.wall_s = -1e-9 * static_cast<double>(now_ns());
  begun.server_cpu_s = -of_server_();
  begun.client_cpu_s = -cpu_s_of_this_thread();
  return begun;
}

void load::end_window(window& of) const {
  of.client_cpu_s += cpu_s_of_this_thread();
  of.server_cpu_s += of_server_();
  of.wall_s += 1e-9 * static_cast<double>(now_ns());
}

window load::echo(std::size_t bytes, std::size_t depth, std::chrono::nanoseconds warm_up,
                  std::chrono::nanoseconds measured) {
  const std::string message = message_of(bytes);
  const std::string frames = frames_of(bytes, depth);
  const std::string_view all = frames;
  const std::size_t frame_bytes = frames.size() / depth;
  std::uint64_t in_flight = 0;
  std::uint64_t came = 0;
  std::uint64_t now = now_ns();
  bool is_measured = false;
  bool goes_on = measured.count() > 0;
  latencies took;

  const auto heard = [&](client& one, std::string_view payload) {
    expect(payload == message, "the server does not echo the message that it received");
    if (one.answered++ == 0) now = now_ns();
    const std::uint64_t sent = std::exchange(one.sent[one.oldest], 0);
    expect(sent != 0, "the server sends more messages than it received");
    if (is_measured) took.add(now - sent);
    one.oldest = (one.oldest + 1) % depth;
    --in_flight;
    ++came;
  };
  // Fills the ring again: new messages take the slots of those that were replied to.
  const auto done = [&](client& one) {
    const std::size_t count = std::exchange(one.answered, 0);
    if (!goes_on || count == 0) return;
    for (std::size_t i = count; i > 0; --i) one.sent[(one.oldest + depth - i) % depth] = now;
    in_flight += count;
    say(one, all.substr(0, count * frame_bytes));
  };

  for (client& one : clients_) {
    one.sent.assign(depth, now);
    one.oldest = one.answered = 0;
    in_flight += depth;
    say(one, all);
  }
  window found;
  const std::uint64_t from = now + static_cast<std::uint64_t>(warm_up.count());
  std::uint64_t until = from + static_cast<std::uint64_t>(measured.count());
  std::uint64_t came_before = 0;
  for (std::uint64_t silent_since = now, came_then = 0; goes_on || in_flight > 0;) {
    look(100, heard, done);
    const std::uint64_t at = now_ns();
    if (came != came_then) {
      came_then = came;
      silent_since = at;
    }
    expect(at < silent_since + patience_ns, "the server does not echo a message within 20 s");
    if (!goes_on) continue;
    if (!is_measured && at >= from) {
      is_measured = true;
      found = begin_window();
      came_before = came;
      until = at + static_cast<std::uint64_t>(measured.count());
    } else if (is_measured && at >= until) {
      end_window(found);
      found.messages = came - came_before;
      goes_on = is_measured = false;
    }
  }
  found.took = took;
  return found;
}

window load::broadcast(std::size_t bytes, std::size_t depth, std::chrono::nanoseconds warm_up,
                       std::chrono::nanoseconds measured) {
  const std::string message = message_of(bytes);
  const std::string frames = frames_of(bytes, depth);
  const std::size_t frame_bytes = frames.size() / depth;
  struct said {
    std::uint64_t at;
    std::size_t missing;
  };
  std::vector<said> in_flight;  // a ring, indexed by a message's number modulo depth
  std::size_t ended = 0;        // since the last check
  std::uint64_t came = 0;
  std::uint64_t now = now_ns();
  bool is_measured = false;
  latencies took;

  const auto heard = [&](client& one, std::string_view payload) {
    expect(payload == message, "the server broadcasts a message that no client sent");
    said& which = in_flight[one.answered++ % depth];
    expect(which.missing > 0, "the server sends a message twice");
    now = now_ns();
    if (is_measured) took.add(now - which.at);
    if (--which.missing == 0) ++ended;
    ++came;
  };

  in_flight.assign(depth, {now, clients_.size()});
  for (client& one : clients_) one.answered = 0;
  say(clients_.front(), frames);
  window found;
  const std::uint64_t from = now + static_cast<std::uint64_t>(warm_up.count());
  std::uint64_t until = 0;
  std::uint64_t came_before = 0;
  std::size_t oldest = 0;
  std::uint64_t ended_at = now;
  for (bool goes_on = true; goes_on || ended < depth;) {
    look(100, heard, [](client&) {});
    const std::uint64_t at = now_ns();
    expect(at < ended_at + patience_ns,
           "a broadcast message did not reach every client within 20 s");
    if (ended == 0) continue;
    ended_at = at;
    if (!goes_on) continue;
    // They end in the order in which they were sent.
    for (std::size_t i = 0; i < ended; ++i) in_flight[oldest++ % depth] = {at, clients_.size()};
    say(clients_.front(),
        std::string_view(frames).substr(0, std::exchange(ended, 0) * frame_bytes));
    if (!is_measured && at >= from) {
      is_measured = true;
      until = at + static_cast<std::uint64_t>(measured.count());
      found = begin_window();
      came_before = came;
    } else if (is_measured && at >= until) {
      end_window(found);
      found.messages = came - came_before;
      goes_on = is_measured = false;
    }
  }
  found.took = took;
  return found;
}

window load::quiet(std::chrono::nanoseconds measured) {
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(measured.count());
  const std::uint64_t before = pings_;
  window found = begin_window();
  const auto heard = [](client&, std::string_view) {
    throw std::runtime_error("the server sends an unsolicited message");
  };
  for (std::uint64_t at; (at = now_ns()) < until;) {
    look(static_cast<int>(std::min<std::uint64_t>(100, (until - at) / 1'000'000 + 1)), heard,
         [](client&) {});
  }
  end_window(found);
  found.messages = pings_ - before;
  return found;
}

void expect_descriptors(std::size_t connections) {
  constexpr rlim_t others = 64;
  const auto wanted = static_cast<rlim_t>(connections) + others;
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) refuse(errno, "getrlimit");
  if (now.rlim_cur >= wanted) return;
  rlimit more = now;
  more.rlim_cur = std::min(wanted, now.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &more) != 0 || more.rlim_cur < wanted) {
    throw std::runtime_error(
        std::to_string(connections) + " connections need " + std::to_string(wanted) +
        " descriptors, and " + std::to_string(now.rlim_max) +
        " are allowed: raise the hard limit (ulimit -Hn), or use fewer clients");
  }
}

}  // namespace troupe::lab
