// SPDX-License-Identifier: Apache-2.0
#include "cli/new_application.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "cli/application_files.hpp"
#include "cli/wrong_usage.hpp"

namespace troupe::cli {
namespace {

// The rules of the server, see docs/guide/configuration.md.
std::string is_application_name(const std::string& name) {
  const auto is_fine = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  const bool fits =
      !name.empty() && name.size() <= 64 && is_fine(static_cast<unsigned char>(name.front())) &&
      std::all_of(name.begin(), name.end(),
                  [&](unsigned char c) { return is_fine(c) || c == '-' || c == '_'; });
  if (fits) return {};
  return quoted(name) +
         " is not a valid application name; allowed are at most 64 letters, digits, '-' and '_', "
         "a letter or a digit first";
}

void write(const std::filesystem::path& file, std::string_view text) {
  std::ofstream to(file, std::ios::binary);
  to << text;
  to.close();
  if (!to) throw std::runtime_error("cannot write " + file.string());
}

std::string with_name(std::string_view text, const std::string& name) {
  constexpr std::string_view place = "@NAME@";
  std::string result(text);
  for (std::size_t at = 0; (at = result.find(place, at)) != std::string::npos; at += name.size()) {
    result.replace(at, place.size(), name);
  }
  return result;
}

int make(const new_application_options& options) {
  const auto folder = (std::filesystem::path(options.folder) / options.name).lexically_normal();
  std::error_code wrong;
  if (std::filesystem::exists(std::filesystem::symlink_status(folder, wrong))) {
    throw std::runtime_error(folder.string() + " exists already; choose another name or --dir");
  }
  if (!std::filesystem::create_directory(folder, wrong)) {
    throw std::runtime_error("cannot create " + folder.string() + ": " + wrong.message());
  }
  for (const application_file& each : application_files(options.kind)) {
    write(folder / each.name, with_name(each.text, options.name));
  }
  std::cout << "created " << folder.string() << "; try: troupe serve --config "
            << (folder / "troupe.toml").string() << '\n';
  return 0;
}

}  // namespace

void add_new(CLI::App& program, new_application_options& options, int& result) {
  CLI::App* const command = program.add_subcommand("new", "creates a new application");
  command->require_subcommand(1);
  CLI::App* const app = command->add_subcommand("app", "creates an application in Lua with a test");
  app->add_option("NAME", options.name, "name of the application and of its folder")
      ->required()
      ->check(is_application_name)
      ->type_name("NAME");
  app->add_option("--kind", options.kind,
                  "raw: plain messages; rpc: methods; standalone: no clients")
      ->check(one_of("kind", {"raw", "rpc", "standalone"}))
      ->type_name("KIND")
      ->capture_default_str();
  app->add_option("--dir", options.folder, "where to create its folder")
      ->check(is_folder)
      ->type_name("DIR")
      ->capture_default_str();
  app->callback([&options, &result] { result = make(options); });
}

}  // namespace troupe::cli
