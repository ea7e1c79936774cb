// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace troupe::http::detail {

/// Bytes that were read and not yet used. The buffer is small as long as reads bring little. It
/// grows after a read that has filled it. It shrinks after a read that would have fitted the small
/// size, once all bytes are used.
///
/// Threads: a plain value.
class read_buffer {
 public:
  static constexpr std::size_t small_bytes = 576;
  static constexpr std::size_t large_bytes = 16 * 1024;

  /// Space for the next read. Unread bytes move. It may be less than small_bytes.
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
  /// Keeps only `rest` of the unread bytes.
  void keep(std::span<char> rest) noexcept { begin_ = end_ - rest.size(); }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t bytes_ = 0;
  std::size_t wanted_ = small_bytes;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace troupe::http::detail
