// SPDX-License-Identifier: Apache-2.0
// Compiled twice, with hidden visibility, as the libraries "first" and "second".
#include <chrono>
#include <future>
#include <optional>
#include <string>

#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/topic.hpp>

#include "shared.hpp"

namespace {

using namespace std::chrono_literals;
using shared::greet;
using shared::greeter;
using shared::greeting;

constexpr auto patience = 30s;

/// Each library has its own, and the two are different classes.
class private_class : public troupe::actor {
 public:
  void on(const greet&) {}
};

std::optional<std::promise<std::string>> heard;

class listener : public troupe::actor {
 public:
  void on(const greeting& m) { heard->set_value(m.text); }
};

struct asks {
  troupe::ref<greeter> whom;
};

/// Sends a request in a handler of this library, with the coroutine that was compiled here.
class asker : public troupe::actor {
 public:
  troupe::task<std::string> on(asks m) {
    auto got = co_await m.whom.ask<greet>(patience, std::string(TROUPE_TEST_LIBRARY));
    co_return got ? *got : got.message();
  }
  troupe::task<bool> on(troupe::ref<greeter> whom) {
    whom.send(shared::knock{});
    const auto got = co_await whom.ask<shared::was_sender_known>(patience);
    co_return got&&* got;
  }
};

std::optional<troupe::ref<greeter>> mine;
std::optional<troupe::ref<private_class>> own;
std::optional<troupe::ref<listener>> hears;

void begin(troupe::system& system) {
  heard.emplace();
  mine = system.spawn<greeter>(TROUPE_TEST_LIBRARY);
  own = system.spawn<private_class>();
  hears = system.spawn<listener>();
  (void)troupe::registry(system).add("greeter of " TROUPE_TEST_LIBRARY, *mine);
  (void)troupe::registry(system).add("private to " TROUPE_TEST_LIBRARY, *own);
  (void)troupe::topic<greeting>(system, "greetings").subscribe(*hears);
}

std::string ask(troupe::system& system, const char* whom) {
  const auto found = troupe::registry(system).find<greeter>(whom);
  if (!found) return "not found";
  return system.spawn<asker>().ask<asks>(patience, *found).get().value();
}

void publish(troupe::system& system, const char* text) {
  (void)troupe::topic<greeting>(system, "greetings").publish(greeting{text});
}

std::string hear() {
  auto later = heard->get_future();
  return later.wait_for(patience) == std::future_status::ready ? later.get() : "nothing";
}

std::string ask_on_this_thread(troupe::ref<greeter> to) {
  return to.ask<greet>(patience, std::string(TROUPE_TEST_LIBRARY)).get().value();
}

bool is_seen_as_sender(troupe::system& system, troupe::ref<greeter> to) {
  return system.spawn<asker>().ask<troupe::ref<greeter>>(patience, to).get().value();
}

bool finds_its_private_class(troupe::system& system, const char* of) {
  return static_cast<bool>(troupe::registry(system).find<private_class>(of));
}

void end() {
  mine.reset();
  own.reset();
  hears.reset();
}

constexpr shared::library functions{.begin = begin,
                                    .ask = ask,
                                    .ask_on_this_thread = ask_on_this_thread,
                                    .is_seen_as_sender = is_seen_as_sender,
                                    .publish = publish,
                                    .hear = hear,
                                    .finds_its_private_class = finds_its_private_class,
                                    .end = end};

}  // namespace

extern "C" [[gnu::visibility("default")]] const shared::library* troupe_test_library() {
  return &functions;
}
