// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/settings.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <troupe/mailbox/limits.hpp>
#include <troupe/scheduler/tuning.hpp>

namespace troupe {

namespace {

struct setting {
  std::string_view name;
  std::uint64_t least;
  std::uint64_t most;
  void (*set)(system_options& of, std::uint64_t value);
};

constexpr std::uint64_t most_messages =
    detail::mailbox_limits::units_max / 4;  // the maximum for a system
// the range of TOML's integers
constexpr std::uint64_t unlimited = std::numeric_limits<std::int64_t>::max();

template <auto Member>
constexpr void set_member(system_options& of, std::uint64_t value) {
  of.*Member = static_cast<std::remove_reference_t<decltype(of.*Member)>>(value);
}

constexpr std::array<setting, 6> settings{{
    {"workers", 0, 1'024, set_member<&system_options::workers>},
    {"max_threads", 1, detail::tuning::most_threads, set_member<&system_options::max_threads>},
    {"turn_messages", 1, 1'000'000, set_member<&system_options::turn_messages>},
    {"spin_rounds", 1, 1'000'000, set_member<&system_options::spin_rounds>},
    {"max_messages", 1, most_messages, set_member<&system_options::max_messages>},
    {"max_bytes", 1, unlimited, set_member<&system_options::max_bytes>},
}};

std::string all_names() {
  std::string text;
  for (const setting& each : settings) {
    if (!text.empty()) text += ", ";
    text += each.name;
  }
  return text;
}

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(blanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(blanks) + 1 - from);
}

// Reads one file, line by line.
class reader {
 public:
  explicit reader(const std::string& file) : file_(file) {}

  void line(std::string_view text, system_options& into) {
    ++number_;
    text = trimmed(text.substr(0, text.find('#')));
    if (text.empty()) return;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) refuse("is not of the form NAME = NUMBER", text);
    const std::string_view name = trimmed(text.substr(0, equals));
    const auto found = std::find_if(settings.begin(), settings.end(),
                                    [&](const setting& each) { return each.name == name; });
    if (name == "search_rounds") refuse("has been renamed to spin_rounds", name);
    if (found == settings.end())
      refuse("is not a setting; valid settings are " + all_names(), name);
    if (!seen_.insert(found->name).second) refuse("is set twice; remove one of the lines", name);
    found->set(into, value_of(*found, trimmed(text.substr(equals + 1))));
  }

 private:
  std::uint64_t value_of(const setting& what, std::string_view text) const {
    std::string digits(text);
    std::erase(digits, '_');
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc() || rest != end || value < what.least || value > what.most) {
      refuse("is not a valid value for " + std::string(what.name) +
                 "; it must be a whole number from " + std::to_string(what.least) + " to " +
                 std::to_string(what.most),
             text);
    }
    return value;
  }

  [[noreturn]] void refuse(const std::string& why, std::string_view what) const {
    throw std::runtime_error(file_ + ":" + std::to_string(number_) + ": \"" + std::string(what) +
                             "\" " + why);
  }

  const std::string& file_;
  std::size_t number_ = 0;
  std::set<std::string_view> seen_;
};

}  // namespace

system_options read_settings(const std::string& file, system_options base) {
  std::ifstream in(file);
  reader lines(file);
  if (in) {
    for (std::string text; std::getline(in, text);) lines.line(text, base);
  }
  if (!in.eof()) {
    throw std::runtime_error(file + ": the settings cannot be read: " + std::strerror(errno));
  }
  return base;
}

}  // namespace troupe
