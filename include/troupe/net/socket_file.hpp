// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include <troupe/net/socket.hpp>

namespace troupe::net {

/// The file of a Unix domain socket that this process listens on. Its destructor removes the file,
/// unless another process has replaced it meanwhile.
class socket_file {
 public:
  /// Binds with mode 0600: only the user of this process and root may connect. Replaces the file
  /// of a socket that no process listens on, which a killed process has left.
  ///
  /// Errors: std::system_error that names the path: it is too long, it is another kind of file, a
  ///         process listens there, the folder does not exist, or this is a simulation.
  explicit socket_file(std::filesystem::path at);
  socket_file(const socket_file&) = delete;
  socket_file& operator=(const socket_file&) = delete;
  ~socket_file();

  /// Listens. Once. The sockets that it accepts are used like those of TCP, except that their
  /// endpoints must not be read.
  [[nodiscard]] acceptor listen(io_context& on);

 private:
  const std::filesystem::path at_;
  int fd_ = -1;  // until listen()
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace troupe::net
