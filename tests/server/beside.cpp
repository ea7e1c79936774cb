// SPDX-License-Identifier: Apache-2.0

// A server like `troupe serve`, with a session in C++ beside the applications: /native echoes every
// message.
//
//   beside serve troupe.toml

#include <exception>
#include <iostream>
#include <string_view>
#include <utility>

#include <troupe/server/server.hpp>

namespace {

using namespace troupe;

class echo : public actor {
 public:
  explicit echo(http::websocket client) : client_(std::move(client)) {}
  void on(http::text m) { client_.send(std::move(m.data)); }
  void on(http::binary m) { client_.send_binary(std::move(m.data)); }
  void on(http::closed) { stop(); }

 private:
  http::websocket client_;
};

}  // namespace

int main(int count, char** arguments) try {
  if (count != 3 || std::string_view(arguments[1]) != "serve") {
    std::cerr << "usage: beside serve troupe.toml\n";
    return 2;
  }
  server::application_server all(
      server::read_configuration(arguments[2]),
      {[](http::server& to, troupe::system&) { to.websocket<echo>("/native"); }});
  all.start();
  return all.run([&] { std::cout << "serving http://127.0.0.1:" << all.port() << std::endl; });
} catch (const std::exception& wrong) {
  std::cerr << wrong.what() << '\n';
  return 1;
}
