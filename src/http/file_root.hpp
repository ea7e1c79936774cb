// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

#include "date.hpp"

namespace troupe::http::detail {

/// An open file descriptor.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor();

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept;
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// A directory below which files may be served, and nothing else.
///
/// It does not look at names to find out whether they leave the directory, it has the kernel
/// resolve them beneath it (openat2 with RESOLVE_BENEATH): neither "..", nor a symbolic link, nor a
/// directory that is moved at this moment leads out. On kernels without that it opens one component
/// after the other and follows no symbolic link at all.
///
/// Files and directories whose names begin with a dot are not served, but for ".well-known".
///
/// Threads: any, at once.
/// Errors:  the constructor throws std::system_error if there is no such directory.
class file_root {
 public:
  enum class resolution : std::uint8_t { by_the_kernel, stepwise };

  explicit file_root(const std::filesystem::path& directory,
                     resolution how = resolution::by_the_kernel);

  struct file {
    descriptor fd;
    std::string name;  // of what was found; "index.html" may have been added
    std::uint64_t size = 0;
    date modified;
    std::string etag;
  };
  struct not_there {};
  struct is_directory {};  // asked for without a slash at the end
  struct out_of_means {};  // of descriptors or memory, at the moment
  using found = std::variant<file, not_there, is_directory, out_of_means>;

  /// `path` is relative and decoded: "a/b.html", "" or "a/" for a directory's index.html.
  [[nodiscard]] found open(std::string_view path) const;

 private:
  descriptor root_;
  resolution how_;
};

}  // namespace troupe::http::detail
