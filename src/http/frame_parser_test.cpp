// SPDX-License-Identifier: Apache-2.0

#include "frame_parser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "raw_client.hpp"

namespace troupe::http::detail {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using c = test::raw_client;
using event = frame_parser::event;

struct heard {
  event what;
  std::string payload;
  std::uint16_t code = 0;
  friend bool operator==(const heard&, const heard&) = default;
};

void PrintTo(const heard& h, std::ostream* out) {
  *out << "{" << static_cast<int>(h.what) << ", " << h.code << ", " << h.payload.size()
       << " bytes: " << h.payload.substr(0, 40) << "}";
}

heard text(std::string data) { return {event::text, std::move(data)}; }
heard binary(std::string data) { return {event::binary, std::move(data)}; }

/// A parser with its source of bytes.
class reader {
 public:
  explicit reader(role as = role::server, std::size_t limit = 1 << 20) : parser_(as, limit) {}

  void hear(std::string_view piece) {
    unread_ += piece;
    std::span<char> in{unread_};
    for (bool goes_on = true; goes_on && !is_over_;) {
      const event e = parser_.next(in);
      goes_on = e != event::more;
      if (!goes_on) break;
      is_over_ = e == event::close || e == event::violation;
      all_.push_back(
          {e, std::string{parser_.payload()}, is_over_ ? parser_.code() : std::uint16_t{0}});
    }
    unread_.erase(0, unread_.size() - in.size());
    EXPECT_TRUE(is_over_ || unread_.size() <= frame_parser::bytes_left_max);
  }
  [[nodiscard]] const std::vector<heard>& all() const { return all_; }
  [[nodiscard]] std::vector<heard> take() { return std::exchange(all_, {}); }

 private:
  frame_parser parser_;
  std::string unread_;
  std::vector<heard> all_;
  bool is_over_ = false;
};

/// Parses the bytes at once, cut in two at every byte, and byte by byte; the result must be the
/// same.
std::vector<heard> parse(const std::string& bytes, role as = role::server,
                         std::size_t limit = 1 << 20) {
  reader at_once(as, limit);
  at_once.hear(bytes);
  const auto cut_at = [&](std::size_t cut) {
    reader r(as, limit);
    r.hear(std::string_view{bytes}.substr(0, cut));
    r.hear(std::string_view{bytes}.substr(cut));
    return r.all();
  };
  const std::size_t step = bytes.size() < 2000 ? 1 : 997;
  for (std::size_t cut = 0; cut < bytes.size(); cut += step) {
    EXPECT_EQ(cut_at(cut), at_once.all()) << "cut at " << cut;
  }
  reader slowly(as, limit);
  for (const char byte : bytes) slowly.hear({&byte, 1});
  EXPECT_EQ(slowly.all(), at_once.all());
  return at_once.take();
}

unsigned code_of(const std::vector<heard>& all) {
  return all.empty() || all.back().what != event::violation ? 0 : all.back().code;
}

TEST(frame_parser, reads_messages_of_every_size) {
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 125u, 126u, 127u, 65535u, 65536u, 100'000u}) {
    std::string data(size, '\0');
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<char>('a' + i % 26);
    EXPECT_THAT(parse(c::frame(c::text, data)), ElementsAre(text(data))) << size;
    EXPECT_THAT(parse(c::frame(c::binary, data) + c::frame(c::text, "next")),
                ElementsAre(binary(data), text("next")))
        << size;
    EXPECT_THAT(parse(c::frame(c::binary, data, true, 0, false), role::client),
                ElementsAre(binary(data)))
        << size;
  }
}

TEST(frame_parser, reads_many_frames_out_of_one_piece) {
  std::string all;
  for (int i = 0; i < 100; ++i) all += c::frame(c::text, std::to_string(i));
  const auto heard = parse(all);
  ASSERT_EQ(heard.size(), 100u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(heard[static_cast<std::size_t>(i)], text(std::to_string(i)));
}

TEST(frame_parser, knows_each_opcode_and_refuses_the_others) {
  for (std::uint8_t op = 0; op < 16; ++op) {
    const auto heard = parse(c::frame(op, "ab", true));
    ASSERT_THAT(heard, SizeIs(1));
    switch (op) {
      case c::text:
      case c::binary:
      case c::ping:
      case c::pong:
        EXPECT_EQ(heard[0].payload, "ab");
        EXPECT_NE(heard[0].what, event::violation);
        break;
      default:  // "ab" is not a code
        EXPECT_EQ(heard[0].what, event::violation) << int{op};
        EXPECT_EQ(heard[0].code, 1002) << int{op};
    }
  }
}

TEST(frame_parser, refuses_every_reserved_bit_in_every_frame) {
  for (const std::uint8_t op : {c::text, c::binary, c::close, c::ping, c::pong}) {
    for (std::uint8_t bits = 0x10; bits <= 0x70; bits = static_cast<std::uint8_t>(bits + 0x10)) {
      EXPECT_EQ(code_of(parse(c::frame(op, "", true, bits))), 1002u) << int{op} << " " << int{bits};
    }
  }
}

TEST(frame_parser, servers_require_masked_frames_and_clients_unmasked_ones) {
  EXPECT_EQ(code_of(parse(c::frame(c::text, "x", true, 0, false))), 1002u);
  EXPECT_EQ(code_of(parse(c::frame(c::text, "x"), role::client)), 1002u);
  EXPECT_EQ(code_of(parse(c::frame(c::ping, "", true, 0, false))), 1002u);
  EXPECT_THAT(parse(c::frame(c::text, "x", true, 0, false), role::client), ElementsAre(text("x")));
}

TEST(frame_parser, puts_fragments_together_around_control_frames) {
  const std::string all = c::frame(c::text, "one ", false) + c::frame(c::ping, "here?") +
                          c::frame(c::continuation, "", false) + c::frame(c::pong, "") +
                          c::frame(c::continuation, "tw\xc3", false) +
                          c::frame(c::continuation, "\xb6") + c::frame(c::binary, "", false) +
                          c::frame(c::continuation, "");
  EXPECT_THAT(parse(all), ElementsAre(heard{event::ping, "here?"}, heard{event::pong, ""},
                                      text("one tw\xc3\xb6"), binary("")));
}

TEST(frame_parser, refuses_fragments_out_of_order) {
  EXPECT_EQ(code_of(parse(c::frame(c::continuation, "x"))), 1002u);
  EXPECT_EQ(code_of(parse(c::frame(c::text, "x") + c::frame(c::continuation, "x"))), 1002u);
  EXPECT_EQ(code_of(parse(c::frame(c::text, "x", false) + c::frame(c::text, "y"))), 1002u);
  EXPECT_EQ(code_of(parse(c::frame(c::text, "x", false) + c::frame(c::binary, "y"))), 1002u);
  for (const std::uint8_t op : {c::close, c::ping, c::pong}) {
    EXPECT_EQ(code_of(parse(c::frame(op, "", false))), 1002u);
  }
}

TEST(frame_parser, control_frames_have_125_bytes_at_most) {
  const std::string most(125, 'x');
  EXPECT_THAT(parse(c::frame(c::ping, most)), ElementsAre(heard{event::ping, most}));
  EXPECT_THAT(parse(c::frame(c::pong, most)), ElementsAre(heard{event::pong, most}));
  EXPECT_EQ(parse(c::frame(c::close, c::close_payload(1000, most.substr(2))))[0].payload.size(),
            123u);
  for (const std::uint8_t op : {c::close, c::ping, c::pong}) {
    EXPECT_EQ(code_of(parse(c::frame(op, std::string(126, 'x')))), 1002u);
    EXPECT_EQ(code_of(parse(c::frame(op, std::string(65536, 'x')))), 1002u);
  }
}

std::string with_size(std::uint8_t first, std::string_view size) {
  std::string head{static_cast<char>(first)};
  return head.append(size).append("mask");
}

TEST(frame_parser, refuses_sizes_that_are_longer_than_they_need_be) {
  using namespace std::string_view_literals;
  for (const auto size : {"\xfe\x00\x00"sv, "\xfe\x00\x7d"sv, "\xff\0\0\0\0\0\0\0\0"sv,
                          "\xff\0\0\0\0\0\0\0\x7e"sv, "\xff\0\0\0\0\0\0\xff\xff"sv}) {
    EXPECT_EQ(code_of(parse(with_size(0x82, size))), 1002u);
  }
  EXPECT_TRUE(parse(with_size(0x82, "\xfe\x00\x7e"sv)).empty());
  EXPECT_TRUE(parse(with_size(0x82, "\xff\0\0\0\0\0\x01\0\0"sv)).empty());
}

TEST(frame_parser, refuses_a_too_large_message_once_its_header_is_read) {
  using namespace std::string_literals;
  EXPECT_THAT(parse(c::frame(c::text, "12345"), role::server, 5), ElementsAre(text("12345")));
  EXPECT_EQ(code_of(parse(c::frame(c::text, "123456").substr(0, 2), role::server, 5)), 1009u);
  EXPECT_EQ(
      code_of(parse(c::frame(c::text, "123", false) + c::frame(c::continuation, "456").substr(0, 2),
                    role::server, 5)),
      1009u);
  EXPECT_EQ(code_of(parse("\x82\xff\x80\0\0\0\0\0\0\0"s, role::server, 1 << 20)), 1009u);
  // A control frame is not part of the message.
  EXPECT_THAT(parse(c::frame(c::text, "123", false) + c::frame(c::ping, "12345678") +
                        c::frame(c::continuation, "45"),
                    role::server, 5),
              ElementsAre(heard{event::ping, "12345678"}, text("12345")));
}

TEST(frame_parser, refuses_a_size_of_64_bits_even_if_all_would_be_taken) {
  using namespace std::string_literals;
  EXPECT_EQ(code_of(parse("\x82\xff\x80\0\0\0\0\0\0\0"s, role::server, SIZE_MAX)), 1002u);
}

TEST(frame_parser, a_text_is_utf8_however_it_is_cut) {
  const std::string good =
      "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5 \xf0\x9f\x98\x80 twelve bytes";
  EXPECT_THAT(parse(c::frame(c::text, good)), ElementsAre(text(good)));
  for (const std::string bad : {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "a\xc3",
                                "\xe2\x82", "\xf0\x9f\x98", "\x80"}) {
    EXPECT_EQ(code_of(parse(c::frame(c::text, bad))), 1007u);
    EXPECT_EQ(code_of(parse(c::frame(c::text, good + bad))), 1007u);
    EXPECT_THAT(parse(c::frame(c::binary, bad)), ElementsAre(binary(bad)));
    for (std::size_t cut = 0; cut <= bad.size(); ++cut) {
      EXPECT_EQ(code_of(parse(c::frame(c::text, bad.substr(0, cut), false) +
                              c::frame(c::continuation, bad.substr(cut)))),
                1007u);
    }
    EXPECT_EQ(code_of(parse(c::frame(c::text, bad, false) + c::frame(c::continuation, ""))), 1007u);
  }
  for (std::size_t cut = 0; cut <= good.size(); ++cut) {
    EXPECT_THAT(parse(c::frame(c::text, good.substr(0, cut), false) +
                      c::frame(c::continuation, good.substr(cut))),
                ElementsAre(text(good)));
  }
}

TEST(frame_parser, a_text_that_is_wrong_is_refused_before_it_is_whole) {
  reader r;
  r.hear(c::frame(c::text, "good so far \xff and much more").substr(0, 6 + 13));
  EXPECT_EQ(code_of(r.all()), 1007u);
}

TEST(frame_parser, accepts_exactly_the_valid_close_codes) {
  const auto closes = [](unsigned code) {
    const auto heard = parse(c::frame(c::close, c::close_payload(code, "why")));
    EXPECT_THAT(heard, SizeIs(1));
    return heard[0].what == event::close && heard[0].code == code && heard[0].payload == "why";
  };
  std::set<unsigned> taken;
  for (unsigned code = 0; code < 65536; code += code < 5100 ? 1 : 501) {
    if (closes(code)) taken.insert(code);
  }
  std::set<unsigned> expected{1000, 1001, 1002, 1003, 1007, 1008,
                              1009, 1010, 1011, 1012, 1013, 1014};
  for (unsigned code = 3000; code < 5000; ++code) expected.insert(code);
  EXPECT_EQ(taken, expected);
}

TEST(frame_parser, reads_close_frames) {
  EXPECT_THAT(parse(c::frame(c::close, "")), ElementsAre(heard{event::close, "", 1005}));
  EXPECT_THAT(parse(c::frame(c::close, c::close_payload(4123, "\xc3\xa4"))),
              ElementsAre(heard{event::close, "\xc3\xa4", 4123}));
  EXPECT_EQ(code_of(parse(c::frame(c::close, "\x03"))), 1002u);
  EXPECT_EQ(code_of(parse(c::frame(c::close, c::close_payload(1000, "\xff")))), 1002u);
  EXPECT_EQ(code_of(parse(c::frame(c::close, c::close_payload(1000, "\xc3")))), 1002u);
}

TEST(frame_parser, ignores_input_after_a_close_frame_or_a_violation) {
  EXPECT_THAT(parse(c::frame(c::close, "") + c::frame(c::text, "x")), SizeIs(1));
  EXPECT_THAT(parse(c::frame(c::continuation, "") + c::frame(c::text, "x")), SizeIs(1));
  frame_parser p(role::server, 100);
  std::string bytes = c::frame(3, "");
  for (int i = 0; i < 3; ++i) {
    std::span<char> in{bytes};
    EXPECT_EQ(p.next(in), event::violation);
    EXPECT_EQ(p.code(), 1002);
  }
}

TEST(frames, a_mask_is_the_same_wherever_the_payload_is_cut) {
  const mask_key key{'\x37', '\xfa', '\x21', '\x3d'};
  std::string plain(100, '\0');
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<char>(i * 7);
  std::string byte_by_byte = plain;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    byte_by_byte[i] = static_cast<char>(byte_by_byte[i] ^ key[i % 4]);
  }
  for (std::size_t size = 0; size <= plain.size(); ++size) {
    std::string s = plain.substr(0, size);
    apply_mask(s.data(), size, key);
    EXPECT_EQ(s, byte_by_byte.substr(0, size));
    s = plain;
    apply_mask(s.data(), size, key);
    apply_mask(s.data() + size, s.size() - size, key, size);
    EXPECT_EQ(s, byte_by_byte);
  }
}

TEST(frames, are_read_as_they_were_written) {
  for (const std::size_t size : {0u, 1u, 125u, 126u, 65535u, 65536u}) {
    const std::string data(size, 'x');
    std::string from_server, from_client;
    append_frame(from_server, opcode::text, data);
    append_frame(from_client, opcode::binary, data, {'a', 'b', 'c', 'd'});
    EXPECT_EQ(from_server, c::frame(c::text, data, true, 0, false));
    EXPECT_EQ(from_server.size(), size + (size > 65535 ? 10 : size > 125 ? 4 : 2));
    EXPECT_EQ(from_client.size(), from_server.size() + 4);
    EXPECT_THAT(parse(from_server, role::client), ElementsAre(text(data)));
    EXPECT_THAT(parse(from_client), ElementsAre(binary(data)));
  }
}

TEST(frames, a_reason_is_cut_between_two_characters) {
  EXPECT_EQ(close_payload(1005, "not sent"), "");
  EXPECT_EQ(close_payload(1000, ""), "\x03\xe8");
  EXPECT_EQ(close_payload(4000, "why"), "\x0f\xa0why");
  for (std::size_t before = 118; before < 130; ++before) {
    const std::string payload = close_payload(1000, std::string(before, 'x') + "\xf0\x9f\x98\x80");
    EXPECT_LE(payload.size(), 125u);
    EXPECT_EQ(payload.size(),
              before <= 119 ? 2 + before + 4 : 2 + std::min<std::size_t>(before, 123));
    EXPECT_TRUE(is_utf8(payload.substr(2)));
  }
}

}  // namespace
}  // namespace troupe::http::detail
