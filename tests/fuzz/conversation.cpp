// SPDX-License-Identifier: Apache-2.0

#include "conversation.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <troupe/http/http.hpp>
#include <troupe/sim/simulation.hpp>
#include <troupe/troupe.hpp>

#include "fuzz.hpp"
#include "http/connection.hpp"
#include "served_folder.hpp"

namespace troupe::fuzz {

namespace {

namespace hd = http::detail;

const served_folder& folder() {
  static const served_folder only;
  return only;
}

http::options options() {
  http::options all;
  all.limits.header_bytes = conversation::header_bytes_max;
  all.limits.body_bytes = conversation::body_bytes_max;
  all.limits.message_bytes = conversation::message_bytes_max;
  all.limits.receive_window = 2;
  return all;
}

http::response echo(const http::request& asked) {
  // Begins with its own text, so that an echo does not look like another response.
  std::string text = "echo: " + asked.body();
  if (const auto name = asked.parameter("name")) text += *name;
  http::response r = http::response::text(std::move(text));
  r.headers.emplace_back("X-Accept", std::string{asked.header("Accept")});
  return r;
}

class session : public actor {
 public:
  session(http::websocket client, std::vector<conversation::message>& messages,
          std::vector<conversation::closing>& closings)
      : client_(std::move(client)), messages_(messages), closings_(closings) {}

  void on(http::text m) {
    messages_.push_back({true, m.data});
    client_.send(std::move(m.data));
  }
  void on(http::binary m) {
    messages_.push_back({false, m.data});
    client_.send_binary(std::move(m.data));
  }
  void on(const http::closed& m) { closings_.push_back({m.code, m.reason}); }

 private:
  http::websocket client_;
  std::vector<conversation::message>& messages_;
  std::vector<conversation::closing>& closings_;
};

class witness : public actor {
 public:
  witness(address of, bool& is_over) : of_(of), is_over_(is_over) {}
  void on_start() { watch(of_); }
  void on(const down&) { is_over_ = true; }

 private:
  address of_;
  bool& is_over_;
};

std::array<int, 2> socket_pair() {
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0,
          "there is a pair of sockets");
  return ends;
}

}  // namespace

class conversation::inside {
 public:
  explicit inside(std::uint64_t seed) : sim_(seed) {
    on_->routes.add("GET", "/echo", echo);
    on_->routes.add("POST", "/echo", echo);
    on_->routes.add("/page", hd::resource{"text/html", "<p>page", "\"tag\""});
    on_->routes.add_files("/files", folder().path());
    on_->routes.add("/chat", [this](http::websocket client) {
      return std::make_unique<hd::session_of<session>>(
          system_.spawn<session>(std::move(client), messages_, closings_));
    });
    net::socket server(context_, net::protocol::v4(), ends_[1]);
    connection_ = system_.spawn<hd::connection>({.where = bound_to(pump_)}, on_, std::move(server),
                                                boost::asio::ip::make_address("127.0.0.1"),
                                                hd::connection::entry::admitted, pump_);
    witness_ = system_.spawn<witness>(connection_.address(), is_over_);
    run();
  }

  ~inside() {
    hang_up();
    connection_.stop_now();
    run();
  }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

  void say(std::string_view bytes) {
    // The other end may already be closed.
    if (client_ >= 0) (void)::send(client_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    run();
  }

  void hang_up() {
    if (client_ < 0) return;
    ::close(std::exchange(client_, -1));
    run();
  }

  void wait(std::chrono::seconds time) {
    sim_.advance(time);
    run();
  }

  // Runs everything that follows without time passing.
  void run() {
    std::size_t done;
    do {
      context_.restart();
      done = pump_.run_until_idle() + sim_.run_until_idle() + context_.poll();
      listen();
    } while (done > 0);
  }

  [[nodiscard]] http::statistics statistics() const noexcept { return on_->counts.snapshot(); }

  std::string heard_;
  std::vector<message> messages_;
  std::vector<closing> closings_;
  std::string failure_;
  bool is_over_ = false;

 private:
  void listen() {
    std::array<char, 4096> some;
    while (client_ >= 0) {
      const ssize_t got = ::recv(client_, some.data(), some.size(), 0);
      if (got <= 0) return;
      heard_.append(some.data(), static_cast<std::size_t>(got));
    }
  }

  sim::simulation sim_;
  net::io_context context_{1};
  troupe::system system_{{.on_failure = [this](const troupe::failure& f) { failure_ = f.what; }}};
  pump pump_{system_};
  std::shared_ptr<hd::server_context> on_ =
      std::make_shared<hd::server_context>(system_, options());
  std::array<int, 2> ends_ = socket_pair();
  int client_ = ends_[0];
  ref<hd::connection> connection_;
  ref<witness> witness_;
};

conversation::conversation(std::uint64_t seed) : inside_(std::make_unique<inside>(seed)) {}
conversation::~conversation() = default;

void conversation::say(std::string_view bytes) { inside_->say(bytes); }
void conversation::hang_up() { inside_->hang_up(); }
void conversation::wait(std::chrono::seconds time) { inside_->wait(time); }

const std::string& conversation::heard() const noexcept { return inside_->heard_; }
const std::vector<conversation::message>& conversation::messages() const noexcept {
  return inside_->messages_;
}
const std::vector<conversation::closing>& conversation::closings() const noexcept {
  return inside_->closings_;
}

bool conversation::is_over() const noexcept { return inside_->is_over_; }
const std::string& conversation::failure() const noexcept { return inside_->failure_; }
http::statistics conversation::statistics() const noexcept { return inside_->statistics(); }

}  // namespace troupe::fuzz
