// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "decode.hpp"
#include "utf8.hpp"

// nlohmann's reader is not used: it recurses for each 0x7f of a row of them, it changes integers
// that do not fit, and it does not check that text is UTF-8.

namespace troupe::lua::detail {
namespace {

// The major types in the encoding, RFC 8949 section 3.1.
enum class major : std::uint8_t { whole, negative, bytes, text, array, map, tag, simple };

struct head {
  major kind;
  std::uint8_t info;       // how the argument was encoded: 31 for an indefinite length
  std::uint64_t argument;  // the bits of a float
};

constexpr std::uint8_t indefinite = 31;

double from_half(std::uint16_t bits) noexcept {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double value = 0;
  if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else if (exponent != 31) {
    value = std::ldexp(fraction + 1024, exponent - 25);
  } else {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

class reader {
 public:
  reader(std::string_view bytes, value_builder& to) noexcept : bytes_(bytes), to_(to) {}

  // The builder's limit of the depth also limits this recursion.
  bool value() {
    head next{};
    return read(next) && value(next);
  }

  bool end() {
    begin_ = at_;
    return at_ == bytes_.size() || to_.refuse("unexpected data after the value");
  }

  // Of the item that was read last.
  [[nodiscard]] std::size_t begin() const noexcept { return begin_; }

 private:
  bool value(const head& got) {
    switch (got.kind) {
      case major::whole:
      case major::negative: {
        if (got.argument > static_cast<std::uint64_t>(std::numeric_limits<lua_Integer>::max())) {
          return to_.refuse("the integer does not fit into 64 bits");
        }
        const auto magnitude = static_cast<lua_Integer>(got.argument);
        return to_.integer(got.kind == major::whole ? magnitude : -1 - magnitude);
      }
      case major::bytes:
      case major::text: {
        std::string_view all;
        return string(got, all) && to_.string(all);
      }
      case major::array:
        return array(got);
      case major::map:
        return map(got);
      case major::tag:
        return to_.refuse("a tag");
      case major::simple:
        break;
    }
    return simple(got);
  }

  bool simple(const head& got) {
    switch (got.info) {
      case 20:
      case 21:
        return to_.boolean(got.info == 21);
      case 22:
      case 23:  // undefined
        return to_.null();
      case 25:
        return to_.number(from_half(static_cast<std::uint16_t>(got.argument)));
      case 26:
        return to_.number(std::bit_cast<float>(static_cast<std::uint32_t>(got.argument)));
      case 27:
        return to_.number(std::bit_cast<double>(got.argument));
      case indefinite:
        return to_.refuse("a break outside of an indefinite-length value");
      default:
        return to_.refuse("an unsupported simple value");
    }
  }

  bool array(const head& got) {
    if (got.info == indefinite) {
      if (!to_.begin_array(0)) return false;
      head next{};
      while (read(next)) {
        if (is_end(next)) return to_.end();
        if (!value(next)) return false;
      }
      return false;
    }
    if (!is_there(got.argument) || !to_.begin_array(static_cast<std::size_t>(got.argument))) {
      return false;
    }
    for (std::uint64_t i = 0; i < got.argument; ++i) {
      if (!value()) return false;
    }
    return to_.end();
  }

  bool map(const head& got) {
    const bool is_counted = got.info != indefinite;
    if (is_counted && !is_there(got.argument)) return false;
    if (!to_.begin_map(is_counted ? static_cast<std::size_t>(got.argument) : 0)) return false;
    for (std::uint64_t i = 0; !is_counted || i < got.argument; ++i) {
      head next{};
      if (!read(next)) return false;
      if (!is_counted && is_end(next)) break;
      if (next.kind != major::text) return to_.refuse("the key is not text");
      std::string_view name;
      if (!string(next, name) || !to_.key(name) || !value()) return false;
    }
    return to_.end();
  }

  bool string(const head& got, std::string_view& all) {
    if (got.info != indefinite) return piece(got, all);
    pieces_.clear();
    head next{};
    while (read(next)) {
      if (is_end(next)) {
        all = pieces_;
        return true;
      }
      if (next.kind != got.kind || next.info == indefinite) {
        return to_.refuse("a string chunk of another type");
      }
      std::string_view one;
      if (!piece(next, one)) return false;
      pieces_ += one;
    }
    return false;
  }

  bool piece(const head& got, std::string_view& text) {
    if (!is_there(got.argument)) return false;
    text = bytes_.substr(at_, static_cast<std::size_t>(got.argument));
    if (got.kind == major::text && !is_utf8(text)) return to_.refuse("the text is not valid UTF-8");
    at_ += text.size();
    return true;
  }

  bool read(head& got) {
    begin_ = at_;
    if (!is_there(1)) return false;
    const auto initial = static_cast<std::uint8_t>(bytes_[at_++]);
    got.kind = major{static_cast<std::uint8_t>(initial >> 5)};
    got.info = initial & 0x1f;
    got.argument = got.info;
    if (got.info < 24) return true;
    if (got.info == indefinite) {
      got.argument = 0;
      const bool may_be =
          got.kind != major::whole && got.kind != major::negative && got.kind != major::tag;
      return may_be || to_.refuse("an invalid length");
    }
    if (got.info > 27) return to_.refuse("an invalid length");
    const std::size_t size = std::size_t{1} << (got.info - 24);
    if (!is_there(size)) return false;
    got.argument = 0;
    for (std::size_t i = 0; i < size; ++i) {
      got.argument = got.argument << 8 | static_cast<std::uint8_t>(bytes_[at_++]);
    }
    return true;
  }

  static bool is_end(const head& got) noexcept {
    return got.kind == major::simple && got.info == indefinite;
  }

  // Every element has at least one byte, so a count that exceeds the number of bytes is rejected.
  bool is_there(std::uint64_t bytes) {
    return bytes <= bytes_.size() - at_ || to_.refuse("unexpected end of data");
  }

  const std::string_view bytes_;
  value_builder& to_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
  std::string pieces_;
};

}  // namespace

std::optional<malformed> decode_cbor(std::string_view bytes, value_builder& to) {
  reader in(bytes, to);
  if (in.value() && in.end()) return std::nullopt;
  return malformed{in.begin(), to.refusal()};
}

}  // namespace troupe::lua::detail
