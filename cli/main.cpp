// SPDX-License-Identifier: Apache-2.0

// The program `troupe`. It exits with 2 for wrong usage, and with 1 if the command failed.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include "cli/wrong_usage.hpp"

#ifdef TROUPE_CLI_LAB
#include "cli/lab.hpp"
#include "lab/built.hpp"
#include "lab/frame/measuring.hpp"
#endif
#ifdef TROUPE_CLI_SERVER
#include <troupe/lua/engine.hpp>

#include "cli/new_application.hpp"
#include "cli/serve.hpp"
#endif

namespace {

constexpr int wrong_usage = 2;

std::string version() {
  std::string text = "troupe " TROUPE_CLI_VERSION;
#ifdef TROUPE_CLI_LAB
  text += " (" + std::string(troupe::lab::built::commit()) + ")";
#endif
#ifdef TROUPE_CLI_SERVER
  text.append(", ").append(troupe::lua::engine_name());
#endif
  return text;
}

int run(int count, char** arguments) {
  CLI::App program("The command-line tool of the Troupe actor runtime", "troupe");
  program.set_version_flag("--version", version());
  program.require_subcommand(1);

  int result = 0;
#ifdef TROUPE_CLI_SERVER
  troupe::cli::serve_options serving;
  troupe::cli::add_serve(program, serving, result);
  troupe::cli::reload_options reloaded;
  troupe::cli::add_reload(program, reloaded, result);
  troupe::cli::new_application_options made;
  troupe::cli::add_new(program, made, result);
#endif
#ifdef TROUPE_CLI_LAB
  const std::shared_ptr<void> lab_options = troupe::cli::add_lab(program, result);
#endif

  try {
    program.parse(count, arguments);
  } catch (const CLI::Success& asked) {  // --help, --version
    return program.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    std::cerr << "troupe: " << troupe::cli::what_is_wrong(program, wrong) << '\n';
    return wrong_usage;
  }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
#ifdef TROUPE_CLI_LAB
  // One variant of an experiment, which the program starts itself, so without the handling for
  // users.
  if (count > 1 && arguments[1] == troupe::lab::run_variant_command) {
    return troupe::lab::run_variant({arguments + 2, arguments + count});
  }
#endif
  try {
    return run(count, arguments);
  } catch (const std::exception& failure) {
    std::cerr << "troupe: " << failure.what() << '\n';
    return 1;
  }
}
