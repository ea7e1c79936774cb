// SPDX-License-Identifier: Apache-2.0

// The server of `troupe serve` with an addition in C++: the chat of examples/chat beside the poll
// of examples/lua, which is a script. One process, one port, and a page at / that links to both.
//
//   together examples/together/troupe.toml

#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include <troupe/server/server.hpp>

#include "../chat/serve.hpp"

namespace {

namespace server = troupe::server;

int serve(const std::string& file, std::optional<std::uint16_t> port) {
  const auto read = [&] {
    server::configuration all = server::read_configuration(file);
    if (port) all.http.port = *port;
    return all;
  };
  server::configuration all = read();
  const std::string address = all.http.address;
  const auto here = std::filesystem::path(file).parent_path();

  const auto chat = [](troupe::http::server& to, troupe::system& in) {
    chat::serve(to, in, "/chat/");
  };
  const auto pages = [&](troupe::http::server& to, troupe::system&) {
    to.files("/", here / "page");
    to.files("/client/", here / "../../clients/javascript");
  };
  server::application_server served(std::move(all), {chat, pages}, read);
  return served.run(
      [&] { std::cout << "serving http://" << address << ":" << served.port() << std::endl; });
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App program{"A chat in C++ and applications in Lua, side by side."};
  std::string file;
  std::optional<std::uint16_t> port;
  program.add_option("CONFIGURATION", file, "configuration file of troupe serve")->required();
  program.add_option("--port", port,
                     "port to listen on; overrides the configuration; 0: any free port");
  try {
    program.parse(count, arguments);
  } catch (const CLI::CallForHelp& e) {
    return program.exit(e);
  } catch (const CLI::ParseError& e) {
    std::cerr << "together: " << e.what() << "; --help lists the options\n";
    return 2;
  }
  try {
    return serve(file, port);
  } catch (const std::exception& e) {
    std::cerr << "together: " << e.what() << '\n';
    return 1;
  }
}
