// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "decode.hpp"

namespace troupe::lua::detail {
namespace {

// Iterates over the bytes, and records the position.
class reading {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  reading(const char* at, const char** told) noexcept : at_(at), told_(told) {}
  reference operator*() const noexcept { return *at_; }
  reading& operator++() noexcept {
    *told_ = ++at_;
    return *this;
  }
  bool operator==(const reading& other) const noexcept { return at_ == other.at_; }

 private:
  const char* at_;
  const char** told_;
};

// The callbacks of nlohmann's parser. They may throw Lua's errors through the parser, which only
// has values to destroy.
struct events {
  using json = nlohmann::json;

  // JSON does not state the number of members. Most objects have a few, and a table grows in steps.
  static constexpr std::size_t guess = 4;

  bool null() { return to.null(); }
  bool boolean(bool value) { return to.boolean(value); }
  bool number_integer(json::number_integer_t value) { return to.integer(value); }
  bool number_unsigned(json::number_unsigned_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<lua_Integer>::max()))
      return too_big();
    return to.integer(static_cast<lua_Integer>(value));
  }
  bool number_float(json::number_float_t value, const std::string& text) {
    if (text.find_first_of(".eE") == std::string::npos) return too_big();
    return to.number(value);
  }
  bool string(const std::string& value) { return to.string(value); }
  bool binary(const json::binary_t&) { return false; }  // JSON has no binary values

  bool start_object(std::size_t) { return to.begin_map(guess); }
  bool key(const std::string& name) { return to.key(name); }
  bool end_object() { return to.end(); }
  bool start_array(std::size_t) { return to.begin_array(0); }
  bool end_array() { return to.end(); }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
    // value - invalid literal; last read: '…'; expected …": the last read text may be long and
    // contain anything.
    std::string_view text = error.what();
    if (const auto begin = text.find("] "); begin != text.npos) text.remove_prefix(begin + 2);
    if (const auto begin = text.find("while parsing "); begin != text.npos) {
      text.remove_prefix(begin + 14);
    }
    text = text.substr(0, std::min(text.find("; "), std::size_t{120}));
    at = position > 0 ? position - 1 : 0;
    return to.refuse(std::string(text));
  }

  bool too_big() { return to.refuse("the integer does not fit into 64 bits"); }

  value_builder& to;
  std::optional<std::size_t> at{};
};

}  // namespace

std::optional<malformed> decode_json(std::string_view bytes, value_builder& to) {
  const char* told = bytes.data();
  events taken{to};
  const bool is_whole = nlohmann::json::sax_parse(
      reading(bytes.data(), &told), reading(bytes.data() + bytes.size(), &told), &taken);
  if (is_whole) return std::nullopt;
  return malformed{taken.at.value_or(static_cast<std::size_t>(told - bytes.data())), to.refusal()};
}

}  // namespace troupe::lua::detail
