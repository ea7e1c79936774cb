// SPDX-License-Identifier: Apache-2.0
// Sends one message to several receivers. Each reads a part of it, so its memory is transferred to
// the reader's core.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/stopwatch.hpp"

namespace troupe::lab::experiments {

namespace {

constexpr std::uint64_t in_flight = 64;  // limit of messages that not all receivers have read

struct text {
  std::string content;
};
struct shared_text {
  std::shared_ptr<const std::string> content;
};

using semaphore = std::counting_semaphore<>;

class reader : public actor {
 public:
  explicit reader(semaphore& done) : done_(done) {}

  void on(const text& t) { read(t.content); }
  void on(const shared_text& t) { read(*t.content); }

 private:
  void read(const std::string& content) {
    wrong_ = wrong_ || content.front() != content.back();
    if (++seen_ % in_flight != 0) return;
    if (wrong_) throw std::runtime_error("a message was changed in transit");
    done_.release();
  }

  semaphore& done_;
  std::uint64_t seen_ = 0;
  bool wrong_ = false;
};

using readers = std::vector<ref<reader>>;

// ── Variants ──────────────────────────────────────────────────────────────────────────────────

struct a_copy_for_each {
  explicit a_copy_for_each(const readers& all) : to(all) {}
  void operator()(std::string content) const {
    for (const auto& each : to) each.send(text{content});
  }
  const readers& to;
};

struct one_that_is_counted {
  explicit one_that_is_counted(const readers& all) : to(all) {}
  void operator()(std::string content) const {
    const auto one = std::make_shared<const std::string>(std::move(content));
    for (const auto& each : to) each.send(shared_text{one});
  }
  const readers& to;
};

struct by_topic {
  explicit by_topic(const readers& all) {
    for (const auto& each : all) (void)to.subscribe(each);
  }
  void operator()(std::string content) const { (void)to.publish(text{std::move(content)}); }
  topic<text> to;
};

template <class How, std::uint64_t Receivers>
void run(trial& t) {
  const std::uint64_t bytes = t["bytes"];
  const std::uint64_t rounds =
      std::max<std::uint64_t>(t["deliveries"] / (Receivers * in_flight), 1);
  semaphore done(0);
  class system system({.workers = static_cast<unsigned>(t["workers"]), .max_bytes = no_limit});
  readers all;
  for (std::uint64_t i = 0; i < Receivers; ++i) all.push_back(system.spawn<reader>(done));
  const How send(all);
  const stopwatch watch;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint64_t i = 0; i < in_flight; ++i) {
      send(std::string(bytes, static_cast<char>('a' + i % 26)));
    }
    for (std::uint64_t i = 0; i < Receivers; ++i) done.acquire();
  }
  const double took = watch.wall_s();
  t.report("delivery", "ns", 1e9 * took / static_cast<double>(rounds * in_flight * Receivers));
}

template <class How>
void add(std::vector<variant>& to, const char* engine, const std::string& name) {
  to.push_back({engine, name + ", 1 receiver", run<How, 1>});
  to.push_back({engine, name + ", 10 receivers", run<How, 10>});
  to.push_back({engine, name + ", 100 receivers", run<How, 100>});
}

std::string answer(const measurements& found) {
  const auto of = [&](const char* engine, const char* variant) {
    return found.median_of(engine, variant, "delivery");
  };
  const double topics = of("troupe", "topic, 100 receivers");
  if (topics == 0) return {};
  std::array<char, 300> text{};
  std::snprintf(text.data(), text.size(),
                "With a hundred receivers, a delivery takes %.0f ns when a topic stores the "
                "message once, %.0f ns with a shared_ptr, and %.0f ns with a copy for each "
                "receiver; with one receiver %.0f, %.0f and %.0f.",
                topics, of("std", "shared_ptr, 100 receivers"),
                of("copies", "one for each, 100 receivers"), of("troupe", "topic, 1 receiver"),
                of("std", "shared_ptr, 1 receiver"), of("copies", "one for each, 1 receiver"));
  return text.data();
}

}  // namespace

experiment receivers() {
  std::vector<variant> variants;
  add<a_copy_for_each>(variants, "copies", "one for each");
  add<one_that_is_counted>(variants, "std", "shared_ptr");
  add<by_topic>(variants, "troupe", "topic");
  return {
      .asks = "What does it cost to send one message to several receivers?",
      .options = {{"bytes", "in a message", 1'000, 100, 1, 10'000'000},
                  {"deliveries", "messages times receivers", 2'000'000, 2'000, 1, 1'000'000'000},
                  {"workers", "worker threads", 2, 2, 1, 1'024}},
      .variants = std::move(variants),
      .answer = answer,
      .means =
          "A copy for each receiver costs the same for every receiver. A topic stores a message "
          "once: publish messages with many receivers, and copy small messages.",
  };
}

}  // namespace troupe::lab::experiments
