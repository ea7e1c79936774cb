// SPDX-License-Identifier: Apache-2.0
// Handlers that are coroutines, in simulations: every event that can happen while one waits, at
// every moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/http/http.hpp>
#include <troupe/net/simulated_network.hpp>
#include <troupe/net/socket.hpp>
#include <troupe/sim/simulation.hpp>

namespace troupe::http {
namespace {

using namespace std::chrono_literals;

struct ask_soon {};
struct ask_slowly {};
struct ask_never {};
struct ask_failing {};
struct load {};

/// The actor behind the routes. It is restarted when it fails, and its mailbox is small.
class backend : public actor {
 public:
  int on(ask_soon) { return 1; }
  task<int> on(ask_slowly) {
    co_await sleep_for(20ms);
    co_return 2;
  }
  void on(ask_never, reply<int> owed) { owed_.push_back(std::move(owed)); }
  int on(ask_failing) { throw std::runtime_error("as asked"); }
  exclusive_task<> on(load) { co_await sleep_for(30ms); }

 private:
  std::vector<reply<int>> owed_;
};

/// Coroutines that exist now.
struct census {
  int alive = 0;
  int begun = 0;
  struct entry {
    explicit entry(census& in) : of(in) {
      ++of.alive;
      ++of.begun;
    }
    entry(const entry&) = delete;
    ~entry() { --of.alive; }
    census& of;
  };
};

/// A server whose routes ask the backend, by coroutines on the thread of the connection or on the
/// pool, with middleware around all of them but "/plain".
class site {
 public:
  site(std::uint64_t seed, bool on_pool, net::simulated_network_options how = {})
      : sim(seed),
        network(how),
        boss_(system.spawn<supervisor>(rules(), backend_spec())),
        backend_(*boss_.ask<find_child<backend>>(1s, "backend").get()),
        on_pool_(on_pool),
        server(system),
        clients(system, "clients") {
    server.route("GET", "/plain", [](const request&) { return response::text("plain"); });
    server.use(identify_requests());
    server.use(secure_responses());
    add<ask_soon>("/soon");
    add<ask_slowly>("/slowly");
    add<ask_never>("/never");
    add<ask_failing>("/failing");
    server.route(
        "GET", "/loaded",
        [this](request) -> task<response> {
          const census::entry here(count);
          for (int i = 0; i < 4; ++i) backend_.send(load{});
          co_return respond(co_await backend_.ask<ask_soon>(no_timeout));
        },
        where());
    server.route(
        "POST", "/body",
        [this](request r) -> task<response> {
          const census::entry here(count);
          (void)co_await backend_.ask<ask_slowly>(10ms);
          co_return json(r.json<std::string>());
        },
        where());
    server.start();
  }

  [[nodiscard]] statistics figures() const { return server.statistics(); }

  sim::simulation sim;
  net::simulated_network network;
  census count;
  troupe::system system{{.on_failure = [](const failure&) {}}};

 private:
  static supervision rules() {
    supervision r;
    r.max_restarts = supervision::unlimited;
    r.min_backoff = 1ms;
    r.max_backoff = 2ms;
    return r;
  }
  static child_spec backend_spec() {
    child_spec c = child<backend>("backend");
    return c.options({.max_messages = 2});
  }
  [[nodiscard]] route_options where() const {
    route_options how{.timeout = 50ms};
    if (on_pool_) how.where = troupe::pool;
    return how;
  }
  static response respond(const ask_result<int>& result) {
    return result ? response::text(std::to_string(*result))
                  : response::error(502, to_string(result.error()));
  }
  template <class Question>
  void add(std::string path) {
    server.route(
        "GET", std::move(path),
        [this](request) -> task<response> {
          const census::entry here(count);
          co_return respond(co_await backend_.ask<Question>(no_timeout));
        },
        where());
  }

  const ref<supervisor> boss_;
  const ref<backend> backend_;
  const bool on_pool_;

 public:
  http::server server;
  net::loop clients;
};

/// A client that sends its requests one after another, or all at once, reads the responses, and may
/// close its connection at any time.
class visitor {
 public:
  visitor(site& in, std::vector<std::string> requests, bool ahead)
      : it_(std::make_shared<conversation>(in, std::move(requests), ahead)) {
    it_->begin(in.server.port());
  }
  visitor(const visitor&) = delete;
  visitor& operator=(const visitor&) = delete;
  ~visitor() { hang_up(); }

  void hang_up() noexcept {
    net::error_code ignored;
    it_->socket.close(ignored);
  }
  [[nodiscard]] const std::vector<unsigned>& statuses() const noexcept { return it_->statuses; }
  [[nodiscard]] bool is_done() const noexcept { return it_->done; }

 private:
  struct conversation : std::enable_shared_from_this<conversation> {
    conversation(site& where, std::vector<std::string> what, bool all_ahead)
        : socket(where.clients.context()), requests(std::move(what)), ahead(all_ahead) {}

    void begin(std::uint16_t port) {
      socket.async_connect({boost::asio::ip::make_address("127.0.0.1"), port},
                           [me = shared_from_this()](net::error_code error) {
                             if (error) return me->end();
                             me->read();
                             me->write();
                           });
    }
    void write() {
      if (next == requests.size()) return;
      text.clear();
      do text += requests[next++];
      while (ahead && next < requests.size());
      boost::asio::async_write(socket, boost::asio::buffer(text),
                               [me = shared_from_this()](net::error_code, std::size_t) {});
    }
    void read() {
      socket.async_read_some(boost::asio::buffer(some),
                             [me = shared_from_this()](net::error_code error, std::size_t bytes) {
                               me->in.append(me->some.data(), bytes);
                               while (me->take_response()) {
                                 if (!me->ahead) me->write();
                               }
                               error ? me->end() : me->read();
                             });
    }
    // A body of a response is always sized.
    bool take_response() {
      const std::size_t head = in.find("\r\n\r\n");
      if (head == std::string::npos) return false;
      const std::size_t at = in.find("Content-Length: ");
      if (at > head) throw std::runtime_error("a response without a size: " + in);
      const std::size_t whole = head + 4 + std::stoul(in.substr(at + 16));
      if (in.size() < whole) return false;
      statuses.push_back(static_cast<unsigned>(std::stoul(in.substr(9, 3))));
      in.erase(0, whole);
      return true;
    }
    void end() noexcept { done = true; }

    net::socket socket;
    const std::vector<std::string> requests;
    const bool ahead;
    std::size_t next = 0;
    std::string text;
    std::string in;
    std::array<char, 512> some{};
    std::vector<unsigned> statuses;
    bool done = false;
  };

  const std::shared_ptr<conversation> it_;
};

const std::vector<std::string> paths{"/soon", "/slowly", "/never", "/failing", "/loaded", "/plain"};

std::string random_request(sim::simulation& sim) {
  const std::size_t which = sim.choose(paths.size() + 1, "request");
  if (which == paths.size()) {
    return "POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
           "7\r\n\r\n\"hello\"";
  }
  return "GET " + paths[which] + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

enum class end_of_run : std::uint8_t { silence, drain, short_drain, stop, shutdown };
constexpr std::array<const char*, 5> ends{"silence", "drain", "short drain", "stop", "shutdown"};

/// In how many runs a coroutine was waiting during an event.
using coverage = std::map<std::string, int>;

void run_at_random(std::uint64_t seed, bool on_pool, coverage& covered) {
  SCOPED_TRACE("seed " + std::to_string(seed) + (on_pool ? ", pool" : ", loop"));
  site w(seed, on_pool, {.resets_one_in = 100});
  std::vector<std::unique_ptr<visitor>> all;
  const std::size_t visitors = 1 + w.sim.choose(4, "visitors");
  for (std::size_t i = 0; i < visitors; ++i) {
    std::vector<std::string> requests;
    const std::size_t count = 1 + w.sim.choose(5, "requests");
    for (std::size_t k = 0; k < count; ++k) requests.push_back(random_request(w.sim));
    all.push_back(std::make_unique<visitor>(w, std::move(requests), w.sim.choose(2, "ahead") == 1));
  }
  const std::size_t steps = w.sim.choose(6, "steps");
  for (std::size_t i = 0; i < steps; ++i) {
    (void)w.sim.advance(duration(1ms) * static_cast<int>(w.sim.choose(40, "pause")));
    if (w.sim.choose(3, "hang up") == 0) all[w.sim.choose(all.size(), "who")]->hang_up();
  }
  const bool is_waiting = w.count.alive > 0;
  const auto how = static_cast<end_of_run>(w.sim.choose(ends.size(), "end"));
  switch (how) {
    case end_of_run::silence:
      (void)w.sim.advance(5s);
      break;
    case end_of_run::drain:
      EXPECT_TRUE(w.server.drain(10s));
      break;
    case end_of_run::short_drain:
      (void)w.server.drain(5ms);
      break;
    case end_of_run::stop:
      w.server.stop();
      break;
    case end_of_run::shutdown:
      w.system.shutdown(5s);
      break;
  }
  // Nothing is left, at once.
  EXPECT_EQ(w.count.alive, 0);
  const statistics s = w.figures();
  EXPECT_EQ(s.handlers, 0u);
  EXPECT_EQ(s.request_body_bytes, 0u);
  if (how != end_of_run::silence && how != end_of_run::shutdown) {
    EXPECT_EQ(s.connections, 0u);
  }
  std::size_t responses = 0;
  for (const auto& each : all) {
    responses += each->statuses().size();
    for (const unsigned status : each->statuses()) {
      EXPECT_TRUE(status == 200 || status == 502 || status == 503) << status;
    }
  }
  EXPECT_LE(responses, s.requests);

  if (is_waiting) ++covered[ends[static_cast<std::size_t>(how)]];
  if (s.handlers_cancelled > 0) ++covered["client gone"];
  if (s.handlers_timed_out > 0) ++covered["deadline"];
  const troupe::statistics of_system = w.system.statistics();
  if (of_system.pauses > 0) ++covered["full mailbox"];
  if (of_system.restarts > 0) ++covered["actor restarted"];
}

TEST(simulated_handlers, leave_nothing_behind_whatever_happens_meanwhile) {
  for (const bool on_pool : {false, true}) {
    coverage covered;
    // A simulation schedules every actor alone, so equal seeds would give equal runs.
    const std::uint64_t first = on_pool ? 1500 : 0;
    for (std::uint64_t seed = first; seed < first + 1500; ++seed) {
      run_at_random(seed, on_pool, covered);
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
    std::printf("coroutines %s:", on_pool ? "on the pool" : "on the connection's thread");
    for (const auto& [what, runs] : covered) std::printf("  %s %d", what.c_str(), runs);
    std::printf("\n");
    for (const char* event : {"client gone", "deadline", "full mailbox", "actor restarted",
                              "silence", "drain", "short drain", "stop", "shutdown"}) {
      EXPECT_GT(covered[event], 0) << event;
    }
  }
}

// Without time-outs every request gets its response, in order.
TEST(simulated_handlers, respond_to_every_request_in_order) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    site w(seed, seed % 2 == 0);
    const std::string soon = "GET /soon HTTP/1.1\r\nHost: a\r\n\r\n";
    const std::string failing = "GET /failing HTTP/1.1\r\nHost: a\r\n\r\n";
    visitor one(w, {soon, failing, soon, soon, failing}, seed % 3 == 0);
    ASSERT_TRUE(w.sim.run_until([&] { return one.statuses().size() == 5; }, 10s)) << seed;
    EXPECT_THAT(one.statuses(), testing::ElementsAre(200, 502, 200, 200, 502)) << seed;
    EXPECT_TRUE(w.server.drain(5s)) << seed;
  }
}

TEST(simulated_handlers, serve_again_when_memory_is_available_again) {
  std::uint64_t faults = 0;
  std::uint64_t served = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    site w(seed, seed % 2 == 0);
    const std::string soon = "GET /soon HTTP/1.1\r\nHost: a\r\n\r\n";
    const std::string body =
        "POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
        "7\r\n\r\n\"hello\"";
    w.sim.inject({.failed_allocations_one_in = 8});
    std::vector<std::unique_ptr<visitor>> all;
    for (int i = 0; i < 10; ++i) {
      all.push_back(std::make_unique<visitor>(w, std::vector{soon, body, soon}, i % 2 == 0));
      (void)w.sim.advance(5ms);
    }
    (void)w.sim.advance(1s);
    faults += w.sim.faults_so_far();
    for (const auto& each : all) served += each->statuses().size();
    w.sim.end_faults();
    EXPECT_EQ(w.count.alive, 0) << seed;
    EXPECT_EQ(w.figures().handlers, 0u) << seed;
    EXPECT_EQ(w.figures().request_body_bytes, 0u) << seed;
    visitor last(w, {soon}, false);
    ASSERT_TRUE(w.sim.run_until([&] { return last.statuses().size() == 1; }, 2s)) << seed;
    // The supervisor of the backend may have given up for lack of memory.
    EXPECT_THAT(last.statuses(), testing::ElementsAre(testing::AnyOf(200, 502))) << seed;
    EXPECT_TRUE(w.server.drain(5s)) << seed;
  }
  EXPECT_GT(faults, 1000u);
  EXPECT_GT(served, 100u);
}

}  // namespace
}  // namespace troupe::http
