// SPDX-License-Identifier: Apache-2.0
#include "cli/serve.hpp"

#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string_view>

#include <troupe/server/server.hpp>

#include "cli/wrong_usage.hpp"

namespace troupe::cli {
namespace {

constexpr const char* usual_file = "troupe.toml";

// For the upgrades of all applications together.
constexpr std::chrono::minutes reload_time{10};

// Returns the configuration of the file, with the options of the command line applied.
server::configuration read(const serve_options& options) {
  server::configuration all;
  if (!options.config.empty()) all = server::read_configuration(options.config);
  for (const std::string& each : options.applications) {
    all.applications.push_back(server::application_at(each));
  }
  if (!options.address.empty()) all.http.address = options.address;
  if (options.port) all.http.port = *options.port;
  if (!options.control.empty()) all.admin.control = options.control;
  if (options.watch) all.admin.watch = true;
  server::expect_no_duplicates(all);
  if (all.applications.empty()) {
    throw server::configuration_error(
        options.config +
        ": no applications are configured; add [applications.NAME] with "
        "from = \"FOLDER\"");
  }
  return all;
}

const char* name_of(lua::application_kind kind) {
  switch (kind) {
    case lua::application_kind::raw:
      return "raw";
    case lua::application_kind::rpc:
      return "rpc";
    case lua::application_kind::standalone:
      break;
  }
  return "standalone";
}

std::string is_application(const std::string& path) {
  try {
    (void)server::application_at(path);
    return {};
  } catch (const server::configuration_error& wrong) {
    return wrong.what();
  }
}

// Omits the traceback.
std::string first_line(const std::exception& of) {
  const std::string text = of.what();
  return text.substr(0, text.find('\n'));
}

// Prints one line if there is a certificate.
int check_certificate(const http::tls_options& of) {
  if (!of.is_set()) return 0;
  try {
    const http::tls_certificate is = http::read_certificate(of);
    const std::string_view worry = http::expiry_warning(is, wall_clock::now());
    (worry.empty() ? std::cout : std::cerr)
        << "tls: " << http::to_string(is) << ", " << (worry.empty() ? "ok" : worry) << '\n';
    return 0;
  } catch (const http::tls_error& wrong) {
    std::cerr << "tls: " << wrong.what() << '\n';
    return 1;
  }
}

// Prints one line for each application, on the standard output if it is valid.
int check(const server::configuration& all) {
  int result = check_certificate(all.http.tls);
  for (const server::served_application& each : all.applications) {
    try {
      const lua::application_kind kind = lua::application::check(each.options);
      std::cout << each.options.name << ": " << name_of(kind) << ", ok\n";
    } catch (const lua::application_error& wrong) {
      std::cerr << each.options.name << ": " << first_line(wrong) << '\n';
      result = 1;
    }
  }
  return result;
}

int serve(const serve_options& options) {
  server::configuration all = read(options);
  if (options.check) return check(all);
  const std::string address = all.http.address;
  const char* const scheme = all.http.tls.is_set() ? "https://" : "http://";
  server::application_server served(std::move(all), {}, [&options] { return read(options); });
  try {
    return served.run([&] {
      const bool is_v6 = address.find(':') != std::string::npos;
      std::cout << "serving " << scheme << (is_v6 ? "[" + address + "]" : address) << ":"
                << served.port() << std::endl;
    });
  } catch (const lua::application_error& wrong) {
    std::cerr << "troupe: " << first_line(wrong) << '\n';
    return 1;
  }
}

}  // namespace

void add_serve(CLI::App& program, serve_options& options, int& result) {
  CLI::App* const command =
      program.add_subcommand("serve", "serves applications in Lua over WebSocket");
  command
      ->add_option(
          "APP", options.applications,
          "a folder with main.lua, or a Lua file, served at /NAME; by default, ./troupe.toml "
          "is the configuration")
      ->check(is_application);
  command->add_option("--config", options.config, "configuration file in TOML")
      ->check(is_named)
      ->type_name("FILE");
  command
      ->add_option("--address", options.address,
                   "address to listen on; overrides the configuration")
      ->check([](const std::string& text) { return text.empty() ? "the address is empty" : ""; })
      ->type_name("ADDRESS");
  add_number(*command, "--port", {0, 65'535},
             "port to listen on; overrides the configuration; 0: any free port",
             [&options](std::uint64_t value) { options.port = static_cast<std::uint16_t>(value); });
  command
      ->add_option("--control", options.control,
                   "path of the control socket for troupe reload; overrides the configuration")
      ->check(is_named)
      ->type_name("PATH");
  command
      ->add_flag("--watch", options.watch,
                 "upgrade applications when their files change, for development")
      ->disable_flag_override();
  command->add_flag("--check", options.check, "check the configuration and all scripts, then exit")
      ->disable_flag_override();
  command->callback([&options, &result] {
    if (options.config.empty() && options.applications.empty()) {
      if (!std::filesystem::exists(usual_file)) {
        throw CLI::ValidationError("serve",
                                   std::string("nothing to serve: name an application, a file with "
                                               "--config, or write ./") +
                                       usual_file);
      }
      options.config = usual_file;
    }
    result = serve(options);
  });
}

void add_reload(CLI::App& program, reload_options& options, int& result) {
  CLI::App* const command =
      program.add_subcommand("reload",
                             "makes a running server reload its configuration, certificates and "
                             "application files, and prints the result");
  command
      ->add_option("--config", options.config,
                   "configuration file of the server; ./troupe.toml without --control")
      ->check(is_named)
      ->type_name("FILE");
  command->add_option("--control", options.control, "path of the control socket of the server")
      ->check(is_named)
      ->type_name("PATH");
  command->callback([&options, &result] {
    std::filesystem::path socket = options.control;
    if (socket.empty()) {
      const std::string file = options.config.empty() ? usual_file : options.config;
      socket = server::read_configuration(file).admin.control;
      if (socket.empty()) {
        throw CLI::ValidationError("reload", file +
                                                 " has no admin.control; name a socket there, or "
                                                 "with --control, and start the server with it");
      }
    }
    const server::command_result got = server::send_command(socket, "reload", reload_time);
    (got.done ? std::cout : std::cerr) << (got.text.empty() ? "nothing changed\n" : got.text);
    result = got.done ? 0 : 1;
  });
}

}  // namespace troupe::cli
