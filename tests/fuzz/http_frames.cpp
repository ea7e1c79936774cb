// SPDX-License-Identifier: Apache-2.0

// The frames of a WebSocket. An input is all the bytes from the other end; the first byte selects
// the end.

#include <string>
#include <utility>
#include <vector>

#include "http/frame_parser.hpp"

#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::http::detail;
using event = frame_parser::event;

constexpr std::size_t message_bytes_max = 160;

struct heard {
  event what = event::more;
  std::string payload;
  std::uint16_t code = 0;
  friend bool operator==(const heard&, const heard&) = default;
};

bool is_last(event e) { return e == event::close || e == event::violation; }

std::vector<heard> read(std::string_view input, role as, std::size_t pieces, std::uint64_t by) {
  frame_parser parser(as, message_bytes_max);
  std::vector<heard> all;
  std::string unread;
  for (std::size_t left = pieces; left > 0; --left) {
    const std::size_t size = left == 1 ? input.size() : (by >> (left * 7)) % (input.size() + 1);
    unread += input.substr(0, size);
    input.remove_prefix(size);
    std::span<char> in{unread};
    for (event e = event::text; e != event::more;) {
      e = parser.next(in);
      require(in.data() + in.size() == unread.data() + unread.size(), "bytes are left at the end");
      if (e == event::more) {
        require(in.size() <= frame_parser::bytes_left_max, "few bytes are left");
        break;
      }
      all.push_back(
          {e, std::string{parser.payload()}, is_last(e) ? parser.code() : std::uint16_t{0}});
      if (is_last(e)) return all;
    }
    unread.erase(0, unread.size() - in.size());
  }
  return all;
}

void check(const heard& h) {
  switch (h.what) {
    case event::text:
      require(troupe::fuzz::is_utf8(h.payload), "a text is UTF-8");
      [[fallthrough]];
    case event::binary:
      require(h.payload.size() <= message_bytes_max, "a message is within the limit");
      break;
    case event::close:
      require(h.code == 1005 || is_close_code(h.code), "a close frame has a code that there is");
      require(troupe::fuzz::is_utf8(h.payload), "a reason is UTF-8");
      [[fallthrough]];
    case event::ping:
    case event::pong:
      require(h.payload.size() <= 125, "a control frame is short");
      break;
    case event::violation:
      require(h.code == 1002 || h.code == 1007 || h.code == 1009, "a mistake has its code");
      require(!h.payload.empty(), "a mistake has a reason");
      break;
    case event::more:
      break;
  }
}

std::string write(const std::vector<heard>& all, role as) {
  std::string bytes;
  const auto add = [&](opcode what, std::string_view payload) {
    as == role::client ? append_frame(bytes, what, payload, {'k', 'e', 'y', '\xff'})
                       : append_frame(bytes, what, payload);
  };
  for (const heard& h : all) {
    switch (h.what) {
      case event::text:
        add(opcode::text, h.payload);
        break;
      case event::binary:
        add(opcode::binary, h.payload);
        break;
      case event::ping:
        add(opcode::ping, h.payload);
        break;
      case event::pong:
        add(opcode::pong, h.payload);
        break;
      case event::close:
        add(opcode::close, close_payload(h.code, h.payload));
        break;
      case event::violation:
      case event::more:
        break;
    }
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const role as = data[0] % 2 == 0 ? role::server : role::client;
  const role other = as == role::server ? role::client : role::server;
  const std::string_view input = text_of(data + 1, size - 1);
  const std::uint64_t by = hash_of(input);

  std::vector<heard> whole = read(input, as, 1, by);
  for (const heard& h : whole) check(h);
  require(whole == read(input, as, 2 + by % 5, by), "in pieces it is the same");
  if (!whole.empty() && whole.back().what == event::violation) whole.pop_back();
  const std::string again = write(whole, other);
  require(whole == read(again, as, 1, by), "what is written is read");
  require(again == write(read(again, as, 1, by), other), "and there is one way to write it");
  return 0;
}
