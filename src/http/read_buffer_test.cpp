// SPDX-License-Identifier: Apache-2.0

#include "read_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace troupe::http::detail {
namespace {

/// Reads the available bytes of a socket, and returns the space that the buffer offered.
std::size_t read(read_buffer& in, std::string& socket) {
  const std::span<char> room = in.prepare();
  const std::size_t bytes = std::min(room.size(), socket.size());
  std::copy_n(socket.begin(), bytes, room.begin());
  socket.erase(0, bytes);
  in.commit(bytes);
  return room.size();
}

std::string_view unread(read_buffer& in) { return {in.unread().data(), in.unread().size()}; }

TEST(read_buffer, grows_after_a_full_read_and_shrinks_after_a_small_one) {
  read_buffer in;
  EXPECT_TRUE(in.unread().empty());
  std::string socket(read_buffer::small_bytes + 100, 'x');
  EXPECT_EQ(read(in, socket), read_buffer::small_bytes);
  in.keep({});
  EXPECT_EQ(read(in, socket), read_buffer::large_bytes);
  in.keep({});
  EXPECT_EQ(read(in, socket), read_buffer::small_bytes);
}

TEST(read_buffer, keeps_unread_bytes_before_new_ones) {
  for (const std::size_t first : {std::size_t{10}, read_buffer::small_bytes}) {
    read_buffer in;
    std::string socket(first, 'x');
    socket.replace(first - 3, 3, "abc");
    (void)read(in, socket);
    in.keep(in.unread().last(3));
    EXPECT_EQ(unread(in), "abc");
    socket.append("defgh");
    (void)read(in, socket);
    EXPECT_EQ(unread(in), "abcdefgh");
    in.keep(in.unread().subspan(4));
    socket.push_back('i');
    (void)read(in, socket);
    EXPECT_EQ(unread(in), "efghi");
  }
}

}  // namespace
}  // namespace troupe::http::detail
