// SPDX-License-Identifier: Apache-2.0

#include "file_root.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace troupe::http::detail {
namespace {

// O_NONBLOCK, because opening a FIFO would otherwise wait for its other end.
constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

descriptor open_beneath(int root, const std::string& path) {
  open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return descriptor{
      static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how)))};
}

descriptor open_stepwise(int root, const std::string& path) {
  descriptor at;
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      errno = EXDEV;
      return {};
    }
    const int more = begin < path.size() ? O_DIRECTORY : 0;
    at = descriptor{::openat(at ? at.get() : root, name.c_str(), flags | O_NOFOLLOW | more)};
    if (!at) return {};
  }
  // "." and the like: the root itself.
  if (!at) at = descriptor{::openat(root, ".", flags | O_DIRECTORY)};
  return at;
}

// A component begins with a dot, like files that programs keep for themselves: ".git", ".env",
// ".htpasswd". The ".well-known" of RFC 8615, which is public, is served.
bool is_hidden(std::string_view path) noexcept {
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    const bool is_step = name == "." || name == "..";  // resolved by the kernel
    if (name.starts_with('.') && !is_step && name != ".well-known") return true;
  }
  return false;
}

std::string etag_of(const struct stat& info) {
  std::array<char, 64> text;
  const int size = std::snprintf(text.data(), text.size(), "\"%llx-%llx-%llx\"",
                                 static_cast<unsigned long long>(info.st_size),
                                 static_cast<unsigned long long>(info.st_mtim.tv_sec),
                                 static_cast<unsigned long long>(info.st_mtim.tv_nsec));
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  descriptor old{std::exchange(fd_, other.release())};
  return *this;
}

descriptor::~descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int descriptor::release() noexcept { return std::exchange(fd_, -1); }

file_root::file_root(const std::filesystem::path& directory, resolution how)
    : root_(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), how_(how) {
  if (!root_) {
    throw std::system_error(errno, std::system_category(), "cannot serve " + directory.string());
  }
}

file_root::found file_root::open(std::string_view path) const {
  std::string name{path};
  const bool wants_directory = name.empty() || name.ends_with('/');
  if (wants_directory) name += "index.html";
  if (name.starts_with('/') || is_hidden(name)) return not_there{};

  descriptor fd;
  if (how_ == resolution::by_the_kernel) fd = open_beneath(root_.get(), name);
  // EPERM comes from a sandbox that does not know the call and forbids it.
  const bool unknown_call = !fd && (errno == ENOSYS || errno == EPERM);
  if (how_ == resolution::stepwise || unknown_call) fd = open_stepwise(root_.get(), name);
  if (!fd) {
    const bool no_means = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EAGAIN;
    if (no_means) return out_of_means{};
    return not_there{};  // or not accessible; the client need not know which
  }

  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return not_there{};
  if (S_ISDIR(info.st_mode)) return is_directory{};
  if (!S_ISREG(info.st_mode)) return not_there{};
  return file{std::move(fd), std::move(name), static_cast<std::uint64_t>(info.st_size),
              date{std::chrono::seconds{info.st_mtim.tv_sec}}, etag_of(info)};
}

}  // namespace troupe::http::detail
