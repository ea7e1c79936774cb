// SPDX-License-Identifier: Apache-2.0
// A canary for compilers: messages that own resources, in every form in which a program builds one.
// It detects objects that a compiler destroys twice, does not destroy, or moves by copying their
// bytes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <variant>
#include <vector>

using namespace std::chrono_literals;

namespace {

troupe::atomic<int> failures{0};
troupe::atomic<int> checks{0};

void check(bool holds, const char* what) {
  checks.fetch_add(1, troupe::relaxed);
  if (holds) return;
  failures.fetch_add(1, troupe::relaxed);
  std::fprintf(stderr, "broken: %s\n", what);
}

/// Remembers its address, and detects whether it was moved by copying bytes.
class witness {
 public:
  witness() { ++alive; }
  witness(const witness& other) { check(other.is_whole(), "what is copied is whole"), ++alive; }
  witness(witness&& other) noexcept { check(other.is_whole(), "what is moved is whole"), ++alive; }
  witness& operator=(const witness&) = default;
  witness& operator=(witness&&) noexcept = default;
  ~witness() {
    check(is_whole(), "what is destroyed was built there, and not destroyed before");
    place_.self = nullptr;
    --alive;
  }
  [[nodiscard]] bool is_whole() const { return place_.self == this; }

  static inline troupe::atomic<int> alive{0};

 private:
  struct place {
    explicit place(const witness* of) : self(of) {}
    place& operator=(const place&) { return *this; }
    const witness* volatile self;
  };
  place place_{this};
};

const std::string text = "a text that is too long to be kept within a string";

/// An aggregate that owns resources.
struct letter {
  std::string what = text;
  std::vector<int> numbers{1, 2, 3, 4};
  witness seen{};
};

/// A move-only aggregate.
struct parcel {
  std::unique_ptr<std::string> what;
  witness seen{};
};

/// A class that is not an aggregate.
class note {
 public:
  explicit note(std::string what) : what_(std::move(what)) {}
  [[nodiscard]] const std::string& what() const { return what_; }
  witness seen{};

 private:
  std::string what_;
};

void look_at(const letter& m) {
  check(m.seen.is_whole() && m.what == text, "a letter has its text");
  check(std::accumulate(m.numbers.begin(), m.numbers.end(), 0) == 10, "a letter has its numbers");
}
void look_at(const parcel& m) {
  check(m.seen.is_whole() && m.what != nullptr && *m.what == text, "a parcel has its text");
}
void look_at(const note& m) { check(m.seen.is_whole() && m.what() == text, "a note has its text"); }

parcel a_parcel() { return {std::make_unique<std::string>(text), {}}; }

// ── Receivers ─────────────────────────────────────────────────────────────────────────────────

struct want_letter {
  letter like;
};
struct want_later {
  letter like;
};
struct want_waiting {
  letter like;
};

class reader : public troupe::actor {
 public:
  explicit reader(troupe::atomic<int>& count) : count_(count) {}
  void on(const letter& m) { look_at(m), ++count_; }
  void on(parcel m) { look_at(m), ++count_; }
  troupe::task<> on(note m) {
    co_await troupe::sleep_for(100us);
    look_at(m), ++count_;
  }
  letter on(const want_letter& m) { return look_at(m.like), letter{text, {4, 3, 2, 1}, {}}; }
  void on(want_later m, troupe::reply<parcel> owed) {
    look_at(m.like);
    owed.set_value(parcel{std::make_unique<std::string>(text), {}});
  }
  troupe::task<letter> on(want_waiting m) {
    co_await troupe::sleep_for(100us);
    look_at(m.like);
    co_return letter{text, {4, 3, 2, 1}, {}};
  }

 private:
  troupe::atomic<int>& count_;
};

/// Forwards requests.
class clerk : public troupe::actor {
 public:
  explicit clerk(troupe::ref<reader> to) : to_(std::move(to)) {}
  void on(want_letter m, troupe::reply<letter> owed) {
    look_at(m.like);
    to_.pass_on<want_letter>(std::move(owed), std::move(m.like));
  }

 private:
  const troupe::ref<reader> to_;
};

// ── Senders ───────────────────────────────────────────────────────────────────────────────────

struct begin {};

class writer : public troupe::actor {
 public:
  explicit writer(troupe::ref<reader> to) : to_(std::move(to)) {}

  int on(begin) {
    letter named;
    note other(text);
    to_.send(letter{}), to_.send(letter{text, {5, 5}, {}}), to_.send(named);
    to_.send(a_parcel()), to_.send(parcel{std::make_unique<std::string>(text), {}});
    to_.send(note(text)), to_.send(other), to_.send(std::move(other));
    to_.send_after(0ms, letter{}), to_.send_after(1ms, named), to_.send_after(1ms, a_parcel());
    auto ticks = to_.send_every(1h, letter{});
    ticks.cancel();
    to_.send(std::move(named));
    return 12;
  }

  troupe::task<int> on(std::string) {  // uses async_send
    letter named;
    parcel moved = a_parcel();
    note other(text);
    const std::vector<int> numbers{5, 5};
    int sent = 0;
    const auto count = [&](troupe::delivery d) { sent += d == troupe::delivery::accepted ? 1 : 0; };
    count(co_await to_.async_send(named));
    count(co_await to_.async_send<letter>());
    count(co_await to_.async_send<letter>(text, numbers));
    count(co_await to_.async_send<letter>(std::move(named)));
    count(co_await to_.async_send<parcel>(std::make_unique<std::string>(text)));
    count(co_await to_.async_send<parcel>(std::move(moved)));
    count(co_await to_.async_send(note(text)));
    count(co_await to_.async_send<note>(text));
    count(co_await to_.async_send(other));
    { auto never = to_.async_send(other); }
    co_return sent;
  }

  troupe::task<int> on(bool) {  // uses ask
    const want_letter named;
    want_waiting other;
    const troupe::ref<clerk> between = system().spawn<clerk>(to_);
    int got = 0;
    const auto count = [&](const auto& answer) {
      if (answer) look_at(*answer), ++got;
    };
    count(co_await to_.ask(10s, named));
    count(co_await to_.ask<want_letter>(10s));
    count(co_await to_.ask<want_later>(10s, named.like));
    count(co_await to_.ask<want_later>(10s));
    count(co_await to_.ask<want_waiting>(10s, std::move(other)));
    count(co_await between.ask<want_letter>(10s, named.like));
    auto first = to_.ask(10s, named);
    auto second = to_.ask<want_later>(10s);
    count(co_await std::move(second));
    count(co_await first);
    { auto let_go = to_.ask<want_waiting>(10s); }
    co_return got;
  }

  troupe::task<int> on(troupe::channel<letter> c) {
    letter named;
    auto moved = letter{};
    (void)co_await c.async_send(named);
    (void)co_await c.async_send<letter>(std::move(named));
    (void)co_await troupe::select_when_ready(troupe::into(c, letter_));
    auto taken = troupe::into(c, std::move(moved), [kept = text] { look_at(note(kept)); });
    (void)co_await troupe::select_when_ready(taken);
    int got = 0;
    while (const auto one = co_await c.next(0ms)) look_at(*one), ++got;
    const auto closed = (c.close(), co_await c.async_send(letter_));
    check(closed == troupe::channel_delivery::closed, "a closed channel says so");
    co_return got;
  }

  // A task that awaits tasks with the resources that they own.
  static troupe::task<letter> written(letter by) {
    look_at(by);
    co_await troupe::sleep_for(100us);
    co_return by;
  }
  troupe::task<int> on(char) {
    letter named;
    auto copied = written(named);
    look_at(co_await std::move(copied));
    auto moved = written(std::move(named));
    look_at(co_await std::move(moved));
    co_return 2;
  }

 private:
  const troupe::ref<reader> to_;
  const letter letter_;
};

template <class M, class... Parts>
int how_many(const troupe::ref<writer>& from, Parts&&... parts) {
  const auto got = from.ask<M>(30s, std::forward<Parts>(parts)...).get();
  return got ? *got : 0;
}

void everything() {
  troupe::atomic<int> read{0};
  {
    troupe::system system;
    const auto to = system.spawn<reader>(troupe::spawn_options{.max_messages = 8}, read);
    const auto from = system.spawn<writer>(to);
    check(how_many<begin>(from) == 12, "all are sent");
    check(how_many<std::string>(from, "go") == 9, "all are sent when there is room");
    check(how_many<bool>(from, true) == 8, "all questions are answered");
    check(how_many<troupe::channel<letter>>(from, troupe::channel<letter>(8)) == 4, "a channel");
    check(how_many<char>(from, 'a') == 2, "tasks");

    const auto here = to.ask<want_letter>(30s).get();
    check(static_cast<bool>(here), "a thread is answered");
    if (here) look_at(*here);

    const troupe::topic<letter> topic(troupe::topic_options{.retain_last = true});
    topic.subscribe(to), topic.subscribe(to);
    const letter named;
    topic.publish(named), topic.publish(letter{});

    const auto function =
        system.spawn<letter, parcel>([&read](troupe::context& self) -> troupe::task<> {
          look_at(co_await self.receive<letter>()), ++read;
          const auto one = co_await self.receive<letter, parcel>(30s);
          check(one && std::holds_alternative<parcel>(*one), "a function gets what comes");
          if (one && std::holds_alternative<parcel>(*one)) look_at(std::get<parcel>(*one)), ++read;
        });
    function.send(letter{}), function.send(a_parcel());

    const auto until = troupe::clock::now() + 30s;
    while (read < 12 + 9 + 4 + 2 && troupe::clock::now() < until) std::this_thread::yield();
    to.send(letter{}), to.stop_now();  // a message that is discarded
  }
  check(read == 12 + 9 + 4 + 2 || read == 12 + 9 + 4 + 3, "all are read");
}

}  // namespace

int main() {
  everything();
  check(witness::alive == 0, "what was built is destroyed");
  std::printf("%d checks, %d broken\n", checks.load(), failures.load());
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
