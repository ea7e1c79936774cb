// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <troupe/http/http.hpp>
#include <troupe/lua/lua.hpp>
#include <troupe/troupe.hpp>

#include "lab/built.hpp"
#include "lab/lightness/processes.hpp"
#include "lab/websocket/certificate.hpp"
#include "lab/websocket/servers.hpp"

namespace troupe::lab::websocket {

namespace {

class echo : public actor {
 public:
  explicit echo(http::websocket client) : client_(std::move(client)) {}
  void on(http::text m) { client_.send(std::move(m.data)); }

 private:
  http::websocket client_;
};

/// All clients share one string.
class hall : public actor {
 public:
  struct enter {
    http::websocket who;
  };
  struct say {
    std::string what;
  };

  void on(enter m) { all_.push_back(std::move(m.who)); }
  void on(say m) {
    const auto what = std::make_shared<const std::string>(std::move(m.what));
    for (const http::websocket& one : all_) one.send(what);
  }

 private:
  std::vector<http::websocket> all_;
};

class visitor : public actor {
 public:
  visitor(http::websocket client, ref<hall> in) : in_(std::move(in)) {
    in_.send(hall::enter{std::move(client)});
  }
  void on(http::text m) { in_.send(hall::say{std::move(m.data)}); }

 private:
  ref<hall> in_;
};

// Returns the name of a file in memory, which exists as long as this process.
[[maybe_unused]] std::string file_of(const std::string& text) {
  const int file = ::memfd_create("pem", MFD_CLOEXEC);
  if (file < 0) refuse(errno, "cannot create a file in memory");
  if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    refuse(errno, "a file in memory cannot be written");
  }
  return "/proc/self/fd/" + std::to_string(file);
}

void encrypt(http::options& chosen) {
  const certificate own = make_certificate();
  chosen.tls.certificate = file_of(own.chain);
  chosen.tls.key = file_of(own.key);
}

http::options options_of(const server_setup& how) {
  http::options chosen{.port = 0};
  chosen.limits.connections_max = chosen.limits.connections_per_address_max = 100'000;
  chosen.limits.tls_handshakes_per_second = 0;  // all clients have one address
  chosen.limits.message_bytes = 16 * 1024 * 1024;
  chosen.limits.idle_timeout = how.idle_timeout;
  if (how.tls) encrypt(chosen);
  return chosen;
}

[[noreturn]] void serve_for_ever(http::server& what, const announcement& ready) {
  what.start();
  ready.listens_at(what.port());
  for (;;) ::pause();
}

}  // namespace

void serve_with_troupe(const server_setup& how, const announcement& ready) {
  class system system;
  http::server server(system, options_of(how));
  if (how.broadcasts) {
    server.websocket<visitor>("/", system.spawn<hall>());
  } else {
    server.websocket<echo>("/");
  }
  serve_for_ever(server, ready);
}

void serve_with_lua(const server_setup& how, const announcement& ready) {
  class system system;
  http::server server(system, options_of(how));
  const lua::community all(system);
  const std::string source = built::source();
  lua::application application(
      all, {.name = "served",
            .from = source + (how.broadcasts ? "/lab/websocket/hall" : "/examples/lua/echo")});
  application.serve(server, "/");
  serve_for_ever(server, ready);
}

}  // namespace troupe::lab::websocket
