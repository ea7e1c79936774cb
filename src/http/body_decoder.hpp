// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Extracts the body of a message from the bytes that carry it: RFC 9112, sections 6 and 7.

namespace troupe::http::detail {

/// How the end of a request's body is found.
enum class framing : std::uint8_t {
  none,     // there is no body
  sized,    // by Content-Length
  chunked,  // by the last chunk
};

/// Decodes a body from bytes that come in any pieces. It stores none of them.
///
/// Chunk extensions and trailers are checked and dropped, because nothing here uses them. One limit
/// bounds the bytes of both together.
///
/// Threads: a plain value.
class body_decoder {
 public:
  enum class outcome : std::uint8_t {
    more,    // all bytes are used up
    data,    // data() is the next piece
    done,    // the body has ended; later bytes belong to the next request
    failed,  // not a valid body; see is_too_large()
  };

  static body_decoder sized(std::uint64_t bytes) noexcept;
  static body_decoder chunked(std::size_t extra_bytes_max) noexcept;

  /// Uses up bytes from the front.
  outcome next(std::string_view& bytes) noexcept;

  /// After `data`: a part of the bytes that next() was given.
  [[nodiscard]] std::string_view data() const noexcept { return data_; }
  /// After `failed`: extensions and trailers exceed their limit. Otherwise a rule is broken.
  [[nodiscard]] bool is_too_large() const noexcept { return is_too_large_; }

 private:
  enum class state : std::uint8_t {
    sized,
    size_first,  // the first digit of a chunk's size
    size,
    blank,  // after a size, before the semicolon: RFC 9112, 7.1.1
    extension,
    size_end,  // the LF after it
    chunk,
    chunk_cr,
    chunk_lf,
    trailer_first,  // the first byte of a trailer, or the CR that ends the body
    trailer_name,
    trailer_value,
    trailer_lf,
    last_lf,
    done,
    failed,
  };

  bool take_extra() noexcept;
  state step(char c) noexcept;
  state begin_extension(char c) noexcept;
  [[nodiscard]] state after_size() const noexcept;

  state state_ = state::done;
  std::uint64_t left_ = 0;  // of the body or the chunk; while a chunk's size is read, that size
  unsigned digits_ = 0;     // number of digits of that size
  std::size_t extra_left_ = 0;
  std::string_view data_;
  bool is_too_large_ = false;
};

}  // namespace troupe::http::detail
