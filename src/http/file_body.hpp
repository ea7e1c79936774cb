// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/optional.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "beast.hpp"
#include "file_root.hpp"

namespace troupe::http::detail {

/// A Beast Body that sends a file in pieces of 64 KiB, one of which is in memory. (Beast's own
/// file_body reads 4 KiB at a time.) It ends with an error if the file has become shorter
/// meanwhile. The client then sees the connection close before Content-Length.
struct file_body {
  using value_type = file_root::file;

  static std::uint64_t size(const value_type& file) noexcept { return file.size; }

  class writer {
   public:
    using const_buffers_type = boost::asio::const_buffer;

    template <bool IsRequest, class Fields>
    writer(beast::http::header<IsRequest, Fields>&, value_type& file)
        : fd_(file.fd.get()),
          left_(file.size),
          piece_bytes_(static_cast<std::size_t>(std::min<std::uint64_t>(file.size, 64 * 1024))),
          piece_(std::make_unique<char[]>(piece_bytes_)) {}

    void init(beast::error_code& error) noexcept { error = {}; }

    boost::optional<std::pair<const_buffers_type, bool>> get(beast::error_code& error) {
      error = {};
      if (left_ == 0) return boost::none;
      const std::size_t wanted =
          static_cast<std::size_t>(std::min<std::uint64_t>(left_, piece_bytes_));
      const ::ssize_t got = ::pread(fd_, piece_.get(), wanted, offset_);
      if (got <= 0) {
        error = got == 0 ? beast::error_code{beast::http::error::short_read}
                         : beast::error_code{errno, boost::system::system_category()};
        return boost::none;
      }
      offset_ += got;
      left_ -= static_cast<std::uint64_t>(got);
      return {{const_buffers_type{piece_.get(), static_cast<std::size_t>(got)}, left_ > 0}};
    }

   private:
    int fd_;
    ::off_t offset_ = 0;
    std::uint64_t left_;
    std::size_t piece_bytes_;
    std::unique_ptr<char[]> piece_;
  };
};

}  // namespace troupe::http::detail
