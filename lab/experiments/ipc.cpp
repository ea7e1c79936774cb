// SPDX-License-Identifier: Apache-2.0
// Two sides exchange messages: processes by means of the kernel or shared memory, actors by
// messages.
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <troupe/detail/base/cache_line.hpp>
#include <troupe/troupe.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/frame/human.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/stopwatch.hpp"
#include "lab/lightness/processes.hpp"
#include "lab/lightness/streams.hpp"

namespace troupe::lab::experiments {

namespace {

struct message {
  std::uint64_t number;
  std::array<std::byte, 56> content{};
};
static_assert(sizeof(message) == 64);

// This host does not offer a way to communicate.
struct unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ── Communication between two processes ───────────────────────────────────────────────────────

// A ring in each direction, in memory that both sides share. The semaphores are glibc's: the kernel
// is only called if a thread sleeps on the futex.
class shared_memory {
  static constexpr std::size_t room = 1'024;

  struct ring {
    alignas(cache_line_bytes) sem_t free;
    alignas(cache_line_bytes) sem_t full;
    alignas(cache_line_bytes) std::array<message, room> messages;
  };

  static void wait(sem_t& on) {
    while (::sem_wait(&on) != 0) {
      if (errno != EINTR) refuse(errno, "sem_wait");
    }
  }

 public:
  class side {
   public:
    side(ring& in, ring& out) : in_(in), out_(out) {}

    void send(const message& one) {
      wait(out_.free);
      out_.messages[sent_++ % room] = one;
      ::sem_post(&out_.full);
    }
    void receive(message& one) {
      wait(in_.full);
      one = in_.messages[received_++ % room];
      ::sem_post(&in_.free);
    }

   private:
    ring& in_;
    ring& out_;
    std::size_t sent_ = 0;
    std::size_t received_ = 0;
  };

  shared_memory() {
    void* const at =
        ::mmap(nullptr, sizeof(both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) refuse(errno, "cannot map shared memory");
    rings_ = ::new (at) both;
    for (ring& each : *rings_) {
      ::sem_init(&each.free, 1, room);
      ::sem_init(&each.full, 1, 0);
    }
  }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  ~shared_memory() { ::munmap(rings_, sizeof(both)); }

  side first() const { return {(*rings_)[1], (*rings_)[0]}; }
  side second() const { return {(*rings_)[0], (*rings_)[1]}; }

 private:
  using both = std::array<ring, 2>;
  both* rings_;
};

// POSIX message queues keep the borders of messages. The kernel permits few messages in one.
class message_queues {
 public:
  class side {
   public:
    side(mqd_t in, mqd_t out) : in_(in), out_(out) {}

    void send(const message& one) const {
      while (::mq_send(out_, reinterpret_cast<const char*>(&one), sizeof one, 0) != 0) {
        if (errno != EINTR) refuse(errno, "mq_send");
      }
    }
    void receive(message& one) const {
      while (::mq_receive(in_, reinterpret_cast<char*>(&one), sizeof one, nullptr) < 0) {
        if (errno != EINTR) refuse(errno, "mq_receive");
      }
    }

   private:
    mqd_t in_;
    mqd_t out_;
  };

  message_queues() {
    mq_attr how{};
    how.mq_maxmsg = 10;  // the kernel's limit for programs without a privilege
    how.mq_msgsize = sizeof(message);
    const std::string name = "/troupe-lab-" + std::to_string(::getpid());
    for (mqd_t& each : both_) {
      each = ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &how);
      if (each < 0) throw unavailable("POSIX message queues: " + std::string(std::strerror(errno)));
      ::mq_unlink(name.c_str());
    }
  }
  message_queues(const message_queues&) = delete;
  message_queues& operator=(const message_queues&) = delete;
  ~message_queues() {
    for (const mqd_t each : both_) ::mq_close(each);
  }

  side first() const { return {both_[1], both_[0]}; }
  side second() const { return {both_[0], both_[1]}; }

 private:
  std::array<mqd_t, 2> both_{};
};

// ── Communication between two threads ─────────────────────────────────────────────────────────

// As a program without a library for messages does it.
class queues_under_mutex {
  static constexpr std::size_t room = 1'024;

  struct queue {
    std::mutex guard;
    std::condition_variable has_room;
    std::condition_variable has_message;
    std::deque<message> messages;
  };

 public:
  class side {
   public:
    side(queue& in, queue& out) : in_(in), out_(out) {}

    void send(const message& one) {
      {
        std::unique_lock lock(out_.guard);
        out_.has_room.wait(lock, [&] { return out_.messages.size() < room; });
        out_.messages.push_back(one);
      }
      out_.has_message.notify_one();
    }
    void receive(message& one) {
      {
        std::unique_lock lock(in_.guard);
        in_.has_message.wait(lock, [&] { return !in_.messages.empty(); });
        one = in_.messages.front();
        in_.messages.pop_front();
      }
      in_.has_room.notify_one();
    }

   private:
    queue& in_;
    queue& out_;
  };

  side first() const { return {*queues_[1], *queues_[0]}; }
  side second() const { return {*queues_[0], *queues_[1]}; }

 private:
  std::array<std::unique_ptr<queue>, 2> queues_{std::make_unique<queue>(),
                                                std::make_unique<queue>()};
};

// ── Measuring ─────────────────────────────────────────────────────────────────────────────────

void check(const message& one, std::uint64_t expected) {
  if (one.number != expected) throw std::runtime_error("a message was lost or arrived twice");
}

void report(trial& t, double round_trips_s, double stream_s) {
  t.report("round_trip", "ns", 1e9 * round_trips_s / static_cast<double>(t["round_trips"]));
  t.report("rate", "messages/s", static_cast<double>(t["messages"]) / stream_s);
}

// The other side returns each message of the round trips, and only the last one of the stream.
template <class Side>
void answer_all(Side side, std::uint64_t round_trips, std::uint64_t messages) {
  message one{};
  for (std::uint64_t i = 0; i < round_trips; ++i) {
    side.receive(one);
    side.send(one);
  }
  for (std::uint64_t i = 0; i < messages; ++i) {
    side.receive(one);
    check(one, i);
  }
  side.send(one);
}

template <class Side>
void ask_all(trial& t, Side side) {
  const std::uint64_t messages = t["messages"];
  message one{};
  const stopwatch back_and_forth;
  for (std::uint64_t i = 0; i < t["round_trips"]; ++i) {
    side.send(message{i});
    side.receive(one);
    check(one, i);
  }
  const double round_trips_s = back_and_forth.wall_s();
  const stopwatch one_way;
  for (std::uint64_t i = 0; i < messages; ++i) side.send(message{i});
  side.receive(one);
  check(one, messages - 1);
  report(t, round_trips_s, one_way.wall_s());
}

template <class Way>
void run_processes(trial& t) {
  try {
    const Way way;
    const pid_t other =
        make_process([&] { answer_all(way.second(), t["round_trips"], t["messages"]); });
    ask_all(t, way.first());
    wait_for_process(other);
  } catch (const unavailable& why) {
    t.not_measured(why.what());
  }
}

template <class Way>
void run_threads(trial& t) {
  const Way way;
  std::jthread other([&] { answer_all(way.second(), t["round_trips"], t["messages"]); });
  ask_all(t, way.first());
}

struct outcome {
  double round_trips_s = 0;
  double stream_s = 0;
  bool right = true;
};

class echo : public actor {
 public:
  struct back {
    message what;
  };
  struct forward {
    message what;
  };
  struct begin {
    recipient<back> asker;
  };

  echo(std::uint64_t round_trips, std::uint64_t messages)
      : round_trips_(round_trips), messages_(messages) {}

  void on(begin b) { asker_ = std::move(b.asker); }
  void on(const forward& f) {
    if (round_trips_ > 0) {
      --round_trips_;
      asker_.send(back{f.what});
      return;
    }
    const bool right = f.what.number == streamed_++;
    if (!right || streamed_ == messages_) asker_.send(back{f.what});
  }

 private:
  std::uint64_t round_trips_;
  const std::uint64_t messages_;
  std::uint64_t streamed_ = 0;
  recipient<back> asker_;
};

// In the stream it sends until the receiver's mailbox is full, and continues when there is space.
class asker : public actor {
 public:
  struct go_on {};

  asker(const trial& t, ref<echo> other, outcome& result, std::latch& done)
      : round_trips_(t["round_trips"]),
        messages_(t["messages"]),
        other_(std::move(other)),
        result_(result),
        done_(done) {}

  void on(go_on) {
    if (returned_ == 0) return static_cast<void>(send(returned_));
    for (unsigned i = 0; i < 64 && streamed_ < messages_; ++i) {
      if (!send(streamed_++)) break;
    }
    if (streamed_ < messages_) self(this).send(go_on{});
  }
  void on(const echo::back& b) {
    if (ended_) return;
    if (returned_ == round_trips_) {
      ended_ = true;
      result_.stream_s = watch_.wall_s();
      if (b.what.number != messages_ - 1) result_.right = false;
      other_ = {};
      return done_.count_down();
    }
    if (b.what.number != returned_) result_.right = false;
    if (++returned_ < round_trips_) return static_cast<void>(send(returned_));
    result_.round_trips_s = watch_.wall_s();
    watch_ = stopwatch();
    self(this).send(go_on{});
  }

 private:
  bool send(std::uint64_t number) {
    return other_.send(echo::forward{{number}}) == delivery::accepted;
  }

  const std::uint64_t round_trips_;
  const std::uint64_t messages_;
  ref<echo> other_;
  outcome& result_;
  std::latch& done_;
  stopwatch watch_;
  std::uint64_t returned_ = 0;
  std::uint64_t streamed_ = 0;
  bool ended_ = false;
};

template <unsigned Workers>
void run_actors(trial& t) {
  outcome result;
  std::latch done(1);
  class system system({.workers = Workers});
  const auto other = system.spawn<echo>({.max_messages = 1'024}, t["round_trips"], t["messages"]);
  const auto one = system.spawn<asker>(t, other, result, done);
  other.send(echo::begin{one});
  one.send(asker::go_on{});
  done.wait();
  if (!result.right) throw std::runtime_error("a message was lost or arrived twice");
  report(t, result.round_trips_s, result.stream_s);
}

std::string answer(const measurements& found) {
  const double actors = found.median_of("troupe", "2 workers", "round_trip");
  if (actors == 0) return {};
  std::string text = "A round trip takes " + human(actors, "ns") + " ns between actors";
  const auto add = [&](const char* engine, const char* variant, const std::string& how) {
    const double took = found.median_of(engine, variant, "round_trip");
    if (took == 0) return;
    text += (text.ends_with("actors") ? "; " : ", ") + human(took / actors, "1") +
            " times as long " + how;
  };
  add("threads", "mutex + condition_variable", "between threads with a mutex");
  add("processes", "shared memory", "between processes through shared memory");
  add("processes", "pipe", "through a pipe");
  add("processes", "named pipe", "through a named pipe");
  add("processes", "POSIX message queue", "through a POSIX message queue");
  add("processes", "socketpair", "through a socket pair");
  return text + ".";
}

}  // namespace

experiment ipc() {
  return {
      .asks =
          "What does communication between processes and between threads cost, compared with a "
          "message between actors?",
      .options = {{"round_trips",
                   "messages of 64 bytes that are sent back and forth, one at a time", 100'000, 200,
                   1, 1'000'000'000},
                  {"messages", "messages of 64 bytes in one direction, as fast as possible",
                   1'000'000, 2'000, 1, 1'000'000'000}},
      .variants = {{"processes", "pipe", run_processes<two_pipes>},
                   {"processes", "named pipe", run_processes<named_pipes>},
                   {"processes", "socketpair", run_processes<socket_pair>},
                   {"processes", "POSIX message queue", run_processes<message_queues>},
                   {"processes", "shared memory", run_processes<shared_memory>},
                   {"threads", "mutex + condition_variable", run_threads<queues_under_mutex>},
                   {"threads", "pipe", run_threads<two_pipes>},
                   {"threads", "shared memory", run_threads<shared_memory>},
                   {"troupe", "1 worker", run_actors<1>},
                   {"troupe", "2 workers", run_actors<2>}},
      .answer = answer,
      .means =
          "A message between actors of one process is far cheaper than any communication between "
          "processes. Divide a program into processes for protection, not for structure; where you "
          "must divide it, combine many small messages into one.",
  };
}

}  // namespace troupe::lab::experiments
