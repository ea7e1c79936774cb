// SPDX-License-Identifier: Apache-2.0

#include "body_decoder.hpp"

#include <algorithm>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

// The hexadecimal digits of 64 bits. More digits could only be leading zeros.
constexpr unsigned size_digits_max = 16;

}  // namespace

body_decoder body_decoder::sized(std::uint64_t bytes) noexcept {
  body_decoder made;
  made.state_ = bytes > 0 ? state::sized : state::done;
  made.left_ = bytes;
  return made;
}

body_decoder body_decoder::chunked(std::size_t extra_bytes_max) noexcept {
  body_decoder made;
  made.state_ = state::size_first;
  made.extra_left_ = extra_bytes_max;
  return made;
}

body_decoder::outcome body_decoder::next(std::string_view& bytes) noexcept {
  while (state_ != state::done && state_ != state::failed && !bytes.empty()) {
    if (state_ == state::sized || state_ == state::chunk) {
      data_ =
          bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
      bytes.remove_prefix(data_.size());
      left_ -= data_.size();
      if (left_ == 0) state_ = state_ == state::sized ? state::done : state::chunk_cr;
      return outcome::data;
    }
    state_ = step(bytes.front());
    bytes.remove_prefix(1);
  }
  if (state_ == state::failed) return outcome::failed;
  return state_ == state::done ? outcome::done : outcome::more;
}

// The next state after one byte of the framing around the data.
body_decoder::state body_decoder::step(char c) noexcept {
  switch (state_) {
    case state::size_first:
    case state::size: {
      const int digit = hex_digit(c);
      if (digit >= 0) {
        if (digits_++ == size_digits_max) return state::failed;
        left_ = left_ * 16 + static_cast<unsigned>(digit);
        return state::size;
      }
      if (state_ == state::size_first) return state::failed;
      if (c == '\r') return state::size_end;
      return begin_extension(c);
    }
    case state::blank:
      return begin_extension(c);
    case state::extension:
      if (c == '\r') return state::size_end;
      return can_stand_in_field(c) && take_extra() ? state::extension : state::failed;
    case state::size_end:
      return c == '\n' ? after_size() : state::failed;
    case state::chunk_cr:
      return c == '\r' ? state::chunk_lf : state::failed;
    case state::chunk_lf:
      left_ = 0;
      digits_ = 0;
      return c == '\n' ? state::size_first : state::failed;
    case state::trailer_first:
      if (c == '\r') return state::last_lf;
      return is_token_character(c) && take_extra() ? state::trailer_name : state::failed;
    case state::trailer_name:
      if (c == ':') return take_extra() ? state::trailer_value : state::failed;
      return is_token_character(c) && take_extra() ? state::trailer_name : state::failed;
    case state::trailer_value:
      if (c == '\r') return state::trailer_lf;
      return can_stand_in_field(c) && take_extra() ? state::trailer_value : state::failed;
    case state::trailer_lf:
      return c == '\n' ? state::trailer_first : state::failed;
    case state::last_lf:
      return c == '\n' ? state::done : state::failed;
    case state::sized:
    case state::chunk:
    case state::done:
    case state::failed:
      break;
  }
  return state::failed;
}

body_decoder::state body_decoder::begin_extension(char c) noexcept {
  if ((c != ';' && c != ' ' && c != '\t') || !take_extra()) return state::failed;
  return c == ';' ? state::extension : state::blank;
}

body_decoder::state body_decoder::after_size() const noexcept {
  return left_ == 0 ? state::trailer_first : state::chunk;
}

// Takes space for one more byte that is not data.
bool body_decoder::take_extra() noexcept {
  is_too_large_ = extra_left_ == 0;
  if (is_too_large_) return false;
  --extra_left_;
  return true;
}

}  // namespace troupe::http::detail
