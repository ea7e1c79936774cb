// SPDX-License-Identifier: Apache-2.0
#include "cli/wrong_usage.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/nearest.hpp"

namespace troupe::cli {

namespace {

// Accepts digits only: no sign, no point, no exponent.
bool is_number(const std::string& text, range allowed, std::uint64_t& value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end && value >= allowed.least && value <= allowed.most;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text;
}

// Returns, for example, "troupe lab ring".
std::string full_name(const CLI::App& command) {
  const CLI::App* const above = command.get_parent();
  return (above == nullptr ? "" : full_name(*above) + " ") + command.get_name();
}

// Returns the subcommand to which the last words belong.
const CLI::App& innermost(const CLI::App& command) {
  const std::vector<CLI::App*> next = command.get_subcommands();
  return next.empty() ? command : innermost(*next.front());
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands({})) {
    if (!each->get_name().empty()) names.push_back(each->get_name());
  }
  return names;
}

// Describes an unknown option, an unknown command, or an extra word.
std::string unknown(const CLI::App& command, const std::string& word) {
  const std::string who = "`" + full_name(command) + "`";
  if (word.starts_with('-')) {
    const std::string name = word.substr(0, word.find('='));
    return who + " has no option " + quoted(name) +
           detail::did_you_mean(name, option_names(command));
  }
  const std::vector<std::string> names = command_names(command);
  if (names.empty()) return who + " takes no argument " + quoted(word);
  return who + " has no command " + quoted(word) + detail::did_you_mean(word, names);
}

// Describes the first word that no command has accepted.
std::string what_is_left(const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  if (!words.empty()) return unknown(command, words.front());
  const std::vector<CLI::App*> next = command.get_subcommands();
  return next.empty() ? "" : what_is_left(*next.front());
}

std::string line_about(const CLI::App& program, const CLI::ParseError& wrong) {
  const std::string text = wrong.what();
  const std::string name = text.substr(0, text.find(": "));
  const bool is_value = dynamic_cast<const CLI::ValidationError*>(&wrong) != nullptr;
  if (const std::string left = what_is_left(program); !left.empty() && !is_value) return left;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong) != nullptr) {
    if (text.ends_with(" missing")) return name + " needs a value";
    if (text.find(": At Most ") != std::string::npos) return name + " must be given only once";
    if (text.ends_with(" flag override")) {
      return "--" + text.substr(0, text.find(' ')) + " takes no value";
    }
  }
  if (program.get_subcommands().empty()) {
    return "a command is missing: " + joined(command_names(program));
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string quoted(std::string word) {
  std::replace_if(
      word.begin(), word.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return "'" + word + "'";
}

CLI::Option* add_number(CLI::App& command, const std::string& name, range allowed,
                        const std::string& help, std::function<void(std::uint64_t)> set) {
  const std::string from = std::to_string(allowed.least), to = std::to_string(allowed.most);
  return command
      .add_option_function<std::string>(
          name,
          [=, set = std::move(set)](const std::string& text) {
            std::uint64_t value = 0;
            if (!is_number(text, allowed, value)) {
              throw CLI::ValidationError(
                  name, quoted(text) + " is not a whole number from " + from + " to " + to);
            }
            set(value);
          },
          help)
      ->type_name(from + ".." + to);
}

CLI::Validator one_of(const std::string& kind, std::vector<std::string> names) {
  return CLI::Validator(
      [kind, names = std::move(names)](std::string& word) -> std::string {
        if (std::find(names.begin(), names.end(), word) != names.end()) return {};
        const std::string meant = detail::did_you_mean(word, names);
        return "unknown " + kind + " " + quoted(word) +
               (meant.empty() ? "; the choices are " + joined(names) : meant);
      },
      "");
}

std::string is_named(const std::string& file) {
  return file.empty() ? std::string("the file name is empty") : std::string();
}

std::string is_folder(const std::string& path) {
  return std::filesystem::is_directory(path) ? std::string() : quoted(path) + " is not a folder";
}

std::string what_is_wrong(const CLI::App& program, const CLI::ParseError& wrong) {
  const std::string line = line_about(program, wrong);
  if (line.ends_with('?')) return line;
  return line + "; see `" + full_name(innermost(program)) + " --help`";
}

}  // namespace troupe::cli
