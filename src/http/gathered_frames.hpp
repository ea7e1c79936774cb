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

/// Frames on their way into a socket, for one write: heads and small payloads copied behind each other,
/// large payloads left where they are, which have to stay there until clear().
///
/// Threads: a plain value.
/// Cost:    nothing is kept of more than kept_bytes_max.
class gathered_frames {
 public:
  // A copy of this costs about what the kernel needs for one more buffer.
  static constexpr std::size_t copied_payload_bytes_max = 4 * 1024;
  // What is_full() means; a large payload may be more.
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
    std::array<value_type, 16> all_;  // a simulated socket takes no more at once
    std::size_t size_ = 0;
  };

  void add(opcode what, std::string_view payload);
  /// Masked, and so always copied.
  void add(opcode what, std::string_view payload, mask_key key) {
    append_frame(copied_, what, payload, key);
  }
  /// What is no frame.
  void add(std::string_view bytes) { copied_ += bytes; }

  [[nodiscard]] bool is_empty() const noexcept { return copied_.empty(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return copied_.size() + left_bytes_; }
  /// Enough for one write; the next add() is for another.
  [[nodiscard]] bool is_full() const noexcept;

  /// All of it lies in one().
  [[nodiscard]] bool is_one() const noexcept { return left_.empty(); }
  [[nodiscard]] boost::asio::const_buffer one() const noexcept {
    return {copied_.data() + done_, copied_.size() - done_};
  }
  [[nodiscard]] list all() const noexcept;

  /// So many bytes more have been written. True if that was all; then clear() it.
  bool wrote(std::size_t bytes) noexcept;
  void clear() noexcept;

 private:
  static constexpr std::size_t left_max = 7;
  static constexpr std::size_t kept_bytes_max = 256;

  struct uncopied {
    std::size_t behind;  // so much of what is copied
    std::string_view bytes;
  };

  std::string copied_;
  std::vector<uncopied> left_;  // where they are
  std::size_t left_bytes_ = 0;  // of these
  std::size_t done_ = 0;        // written
};

}  // namespace troupe::http::detail
