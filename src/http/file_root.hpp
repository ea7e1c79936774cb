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

/// A directory whose files may be served, and nothing outside it.
///
/// The class does not examine names to find out whether they leave the directory. The kernel
/// resolves them beneath it (openat2 with RESOLVE_BENEATH), so neither "..", nor a symbolic link,
/// nor a directory that is moved at this moment leads outside. On kernels without this call, it
/// opens one component at a time and follows no symbolic link at all.
///
/// Files and directories whose names begin with a dot are not served, except ".well-known".
///
/// Threads: any, concurrently.
/// Errors:  the constructor throws std::system_error if the directory does not exist.
class file_root {
 public:
  enum class resolution : std::uint8_t { by_the_kernel, stepwise };

  explicit file_root(const std::filesystem::path& directory,
                     resolution how = resolution::by_the_kernel);

  struct file {
    descriptor fd;
    std::string name;  // of the file found; "index.html" may have been added
    std::uint64_t size = 0;
    date modified;
    std::string etag;
  };
  struct not_there {};
  struct is_directory {};  // requested without a slash at the end
  struct out_of_means {};  // no descriptors or no memory at the moment
  using found = std::variant<file, not_there, is_directory, out_of_means>;

  /// `path` is relative and decoded: "a/b.html", "" or "a/" for a directory's index.html.
  [[nodiscard]] found open(std::string_view path) const;

 private:
  descriptor root_;
  resolution how_;
};

}  // namespace troupe::http::detail
