// SPDX-License-Identifier: Apache-2.0
#include <troupe/server/control.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe::server {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using local = asio::local::stream_protocol;
using boost::system::error_code;

// Time for a line to arrive, and for its reply to be sent.
constexpr std::chrono::seconds patience{5};
constexpr std::chrono::milliseconds accept_again{100};
constexpr std::size_t answer_bytes_max = 1024 * 1024;

[[noreturn]] void refuse(const fs::path& at, const std::string& what) {
  throw std::runtime_error("the control socket '" + at.string() + "' " + what);
}

local::endpoint endpoint_at(const fs::path& at) {
  try {
    return local::endpoint(at.string());
  } catch (const boost::system::system_error&) {
    refuse(at, "has a path that is too long: " + std::to_string(at.string().size()) +
                   " bytes; allowed are about 100");
  }
}

bool somebody_listens(const local::endpoint& there) {
  asio::io_context here;
  local::socket probe(here);
  error_code error;
  probe.connect(there, error);
  return !error;
}

}  // namespace

// ── Server ────────────────────────────────────────────────────────────────────────────────────

struct control_socket::state {
  struct conversation {
    explicit conversation(local::socket with)
        : socket(std::move(with)), overdue(socket.get_executor()) {}
    local::socket socket;
    asio::steady_timer overdue;
    std::string line;
    std::string answer;
  };

  state(fs::path at, std::function<command_result(const std::string&)> command)
      : path(std::move(at)), run(std::move(command)), acceptor(context) {
    const local::endpoint here = endpoint_at(path);
    std::error_code ignored;
    const auto there = fs::symlink_status(path, ignored);
    if (fs::exists(there)) {
      if (!fs::is_socket(there)) refuse(path, "exists already and is not a socket");
      if (somebody_listens(here)) refuse(path, "is in use by another server");
      fs::remove(path, ignored);
    }
    try {
      acceptor.open();
      // No other user may write to it, from its creation on.
      const mode_t before = ::umask(0077);
      error_code error;
      acceptor.bind(here, error);
      ::umask(before);
      if (error) throw boost::system::system_error(error);
      acceptor.listen(4);
    } catch (const boost::system::system_error& e) {
      refuse(path, "cannot be created: " + e.code().message());
    }
    accept();
    thread = std::thread([this] { context.run(); });
  }

  ~state() {
    context.stop();
    thread.join();
    std::error_code ignored;
    fs::remove(path, ignored);
  }

  void accept() {
    acceptor.async_accept([this](const error_code& error, local::socket with) {
      if (!error) {
        begin(std::make_shared<conversation>(std::move(with)));
        return accept();
      }
      // For example, no descriptors are left. It retries, with a pause.
      again.expires_after(accept_again);
      again.async_wait([this](const error_code& stopped) {
        if (!stopped) accept();
      });
    });
  }

  void begin(const std::shared_ptr<conversation>& with) {
    with->overdue.expires_after(patience);
    with->overdue.async_wait([with](const error_code& error) {
      if (error) return;
      error_code ignored;
      with->socket.close(ignored);
    });
    asio::async_read_until(with->socket, asio::dynamic_buffer(with->line, command_bytes_max), '\n',
                           [this, with](const error_code& error, std::size_t bytes) {
                             with->overdue.cancel();
                             if (!error) obey(with, with->line.substr(0, bytes - 1));
                           });
  }

  void obey(const std::shared_ptr<conversation>& with, const std::string& command) {
    command_result result;
    try {
      result = run(command);
    } catch (const std::exception& e) {
      result = {.done = false, .text = e.what()};
    }
    with->answer = (result.done ? "done\n" : "failed\n") + result.text;
    asio::async_write(with->socket, asio::buffer(with->answer),
                      [with](const error_code&, std::size_t) {});
  }

  const fs::path path;
  const std::function<command_result(const std::string&)> run;
  asio::io_context context;
  local::acceptor acceptor;
  asio::steady_timer again{context};
  std::thread thread;
};

control_socket::control_socket(const fs::path& at,
                               std::function<command_result(const std::string& command)> run)
    : state_(std::make_unique<state>(at, std::move(run))) {}

control_socket::~control_socket() = default;

// ── Client ────────────────────────────────────────────────────────────────────────────────────

command_result send_command(const fs::path& to, const std::string& command,
                            std::chrono::milliseconds timeout) {
  asio::io_context here;
  local::socket socket(here);
  error_code error;
  socket.connect(endpoint_at(to), error);
  if (error) {
    throw std::runtime_error("no server listens at '" + to.string() + "': " + error.message());
  }
  const std::string line = command + '\n';
  asio::write(socket, asio::buffer(line), error);
  std::string answer;
  std::optional<error_code> ended;
  if (!error) {
    asio::async_read(socket, asio::dynamic_buffer(answer, answer_bytes_max),
                     [&](const error_code& how, std::size_t) { ended = how; });
    here.run_for(timeout);
  }
  const std::string_view all = answer;
  const std::string_view first = all.substr(0, std::min(all.find('\n'), all.size()));
  if (!ended || (first != "done" && first != "failed")) {
    throw std::runtime_error("the server at '" + to.string() + "' did not reply" +
                             (ended ? "" : " in time; see its log for the result"));
  }
  return {.done = first == "done", .text = answer.substr(first.size() + 1)};
}

}  // namespace troupe::server
