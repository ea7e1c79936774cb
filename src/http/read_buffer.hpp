// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace troupe::http::detail {

/// Bytes that were read and not yet used up. It is small as long as reads bring little: larger after one
/// that has filled it, and small again when one would have fitted into that and all is used up.
///
/// Threads: a plain value.
class read_buffer {
 public:
  static constexpr std::size_t small_bytes = 576;
  static constexpr std::size_t large_bytes = 16 * 1024;

  /// Room for the next read; what is unread moves. Less than small_bytes may be.
  [[nodiscard]] std::span<char> prepare() {
    const std::size_t unread = end_ - begin_;
    if (wanted_ != bytes_) {
      std::unique_ptr<char[]> other(new char[wanted_]);
      if (unread > 0) std::memcpy(other.get(), data_.get() + begin_, unread);
      data_ = std::move(other);
      bytes_ = wanted_;
    } else if (begin_ > 0 && unread > 0) {
      std::memmove(data_.get(), data_.get() + begin_, unread);
    }
    begin_ = 0;
    end_ = unread;
    return {data_.get() + end_, bytes_ - end_};
  }
  void commit(std::size_t bytes) noexcept {
    end_ += bytes;
    wanted_ = end_ == bytes_ ? large_bytes : end_ <= small_bytes ? small_bytes : bytes_;
  }

  [[nodiscard]] std::span<char> unread() noexcept { return {data_.get() + begin_, end_ - begin_}; }
  /// Of what was unread, `rest` is.
  void keep(std::span<char> rest) noexcept { begin_ = end_ - rest.size(); }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t bytes_ = 0;
  std::size_t wanted_ = small_bytes;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace troupe::http::detail
