// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "frames.hpp"

namespace troupe::http::detail {

/// Frames to be written to a socket with one write. Heads and small payloads are copied one after
/// another. Large payloads are not copied, and must stay in place until clear().
///
/// Threads: a plain value.
/// Cost:    at most kept_bytes_max of memory is kept between writes.
class gathered_frames {
 public:
  // Copying this many bytes costs about as much as one more buffer costs the kernel.
  static constexpr std::size_t copied_payload_bytes_max = 4 * 1024;
  // The size from which is_full() holds. A large payload may exceed it.
  static constexpr std::size_t write_bytes = 64 * 1024;

  /// A sequence of buffers for Asio.
  class list {
   public:
    using value_type = boost::asio::const_buffer;
    [[nodiscard]] const value_type* begin() const noexcept { return all_.data(); }
    [[nodiscard]] const value_type* end() const noexcept { return all_.data() + size_; }
    void add(const char* data, std::size_t size) noexcept {
      if (size > 0) all_[size_++] = value_type(data, size);
    }

   private:
    std::array<value_type, 16> all_;  // a simulated socket takes at most this many at once
    std::size_t size_ = 0;
  };

  void add(opcode what, std::string_view payload);
  /// A masked frame is always copied.
  void add(opcode what, std::string_view payload, mask_key key) {
    append_frame(copied_, what, payload, key);
  }
  /// Adds bytes that are not a frame.
  void add(std::string_view bytes) { copied_ += bytes; }

  [[nodiscard]] bool is_empty() const noexcept { return copied_.empty(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return copied_.size() + left_bytes_; }
  /// Enough for one write. Further frames belong to the next write.
  [[nodiscard]] bool is_full() const noexcept;

  /// All bytes lie in one().
  [[nodiscard]] bool is_one() const noexcept { return left_.empty(); }
  [[nodiscard]] boost::asio::const_buffer one() const noexcept {
    return {copied_.data() + done_, copied_.size() - done_};
  }
  [[nodiscard]] list all() const noexcept;

  /// Reports that this many more bytes have been written. Returns true if all are; then call
  /// clear().
  bool wrote(std::size_t bytes) noexcept;
  void clear() noexcept;

 private:
  static constexpr std::size_t left_max = 7;
  static constexpr std::size_t kept_bytes_max = 256;

  struct uncopied {
    std::size_t behind;  // the number of copied bytes before it
    std::string_view bytes;
  };

  std::string copied_;
  std::vector<uncopied> left_;  // payloads that were not copied
  std::size_t left_bytes_ = 0;  // of these payloads
  std::size_t done_ = 0;        // bytes already written
};

}  // namespace troupe::http::detail
