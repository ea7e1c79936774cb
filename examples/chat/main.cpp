// SPDX-License-Identifier: Apache-2.0

// A chat: rooms are actors, connections are actors, and the page communicates with them over
// WebSocket.
//
//   browser ⇄ member (one for each connection) → lobby → room → the clients of all its members

#include <CLI/CLI.hpp>
#include <iostream>
#include <system_error>

#include <troupe/http/http.hpp>
#include <troupe/troupe.hpp>

#include "serve.hpp"

int main(int count, char** arguments) {
  troupe::http::options options;
  options.limits.message_bytes = chat::message_bytes;

  CLI::App app{"A chat on Troupe."};
  app.option_defaults()->take_last();
  app.add_option("--address", options.address, "address to listen on")->capture_default_str();
  app.add_option("--port", options.port, "port to listen on; 0: any free port")
      ->capture_default_str();
  app.add_option("--connections", options.limits.connections_max,
                 "limit of open connections of all clients")
      ->capture_default_str();
  app.add_option("--connections-per-address", options.limits.connections_per_address_max,
                 "limit of open connections of one address")
      ->capture_default_str();
  app.add_option("--origin", options.allowed_origins,
                 "another origin whose pages may connect, such as https://example.org")
      ->take_all();
  troupe::system_options run;
  app.add_option("--trace", run.timeline.file,
                 "write a trace of the threads for ui.perfetto.dev, and a summary to FILE.txt")
      ->type_name("FILE");
  try {
    app.parse(count, arguments);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::cerr << "chat: " << e.what() << "; --help lists the options\n";
    return 2;
  }

  try {
    troupe::system system(run);
    troupe::http::server server(system, options);
    chat::serve(server, system, "/");
    server.health();
    server.metrics();
    return server.run([&] {
      std::cout << "serving http://" << options.address << ":" << server.port() << std::endl;
    });
  } catch (const std::system_error& e) {
    std::cerr << "chat: " << e.what() << "; try another --address, --port or --trace\n";
  } catch (const std::exception& e) {
    std::cerr << "chat: " << e.what() << "\n";
  }
  return 1;
}
