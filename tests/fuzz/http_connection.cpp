// SPDX-License-Identifier: Apache-2.0

// The requests of an HTTP client, and their responses. An input is all the bytes of one connection.

#include <algorithm>
#include <vector>

#include "conversation.hpp"
#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using namespace std::chrono_literals;

struct response {
  unsigned status = 0;
  std::string_view text;  // the whole response
};

/// Takes each expected element off the front of the bytes.
class response_reader {
 public:
  explicit response_reader(std::string_view all) : rest_(all) {}

  /// All responses except the interim ones. Bytes after a 101 are no longer HTTP.
  std::vector<response> read() {
    std::vector<response> all;
    while (!rest_.empty()) {
      const std::string_view begin = rest_;
      const unsigned status = read_status_line();
      read_headers();
      if (status == 100) continue;
      if (status != 101) read_body();
      all.push_back({status, begin.substr(0, begin.size() - rest_.size())});
      if (status == 101) break;
    }
    return all;
  }

 private:
  unsigned read_status_line() {
    const std::string_view line = take_line_of_head();
    require(line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 "),
            "a response begins with its version");
    const std::string_view code = line.substr(9, 3);
    require(code.size() == 3 && code.find_first_not_of("0123456789") == std::string_view::npos,
            "a status has three digits");
    require(line.size() > 13 && line[12] == ' ', "a status has a reason");
    return static_cast<unsigned>((code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0'));
  }

  void read_headers() {
    length_ = 0;
    for (std::string_view line = take_line_of_head(); !line.empty(); line = take_line_of_head()) {
      const std::size_t colon = line.find(": ");
      require(colon != std::string_view::npos && colon > 0, "a header has a name");
      require(line.substr(0, colon).find_first_of(" \t") == std::string_view::npos,
              "a header's name is a word");
      if (line.starts_with("Content-Length: ")) length_ = std::stoul(std::string{line.substr(16)});
    }
  }

  // No body here begins like a response. If the next bytes do, they are the next response, and this
  // request was HEAD.
  void read_body() {
    if (rest_.empty() || rest_.starts_with("HTTP/1.")) return;
    require(rest_.size() >= length_ && length_ > 0, "a body has its length");
    rest_.remove_prefix(length_);
  }

  std::string_view take_line_of_head() {
    const std::size_t end = rest_.find("\r\n");
    require(end != std::string_view::npos, "a head ends with an empty line");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    require(std::none_of(line.begin(), line.end(), is_control), "a head has no control characters");
    return line;
  }

  std::string_view rest_;
  std::size_t length_ = 0;
};

std::string without_date(std::string_view response) {
  std::string all{response};
  const std::size_t at = all.find("\r\nDate: ");
  if (at != std::string::npos) all.erase(at, all.find("\r\n", at + 2) - at);
  return all;
}

enum class end : std::uint8_t { silence, hanging_up };

struct outcome {
  std::vector<std::string> answers;
  bool is_websocket = false;
};

/// Sends the input in this many pieces, and then nothing more.
outcome hold(std::string_view input, std::size_t pieces, std::uint64_t by, end how) {
  conversation one(by);
  for (std::size_t left = pieces; left > 0; --left) {
    // Cut anywhere, not only in the middle.
    const std::size_t size = left == 1 ? input.size() : (by >> (left * 7)) % (input.size() + 1);
    one.say(input.substr(0, size));
    input.remove_prefix(size);
  }
  require(one.statistics().requests == response_reader(one.heard()).read().size(),
          "each request is answered once");
  if (how == end::hanging_up) one.hang_up();
  for (int i = 0; i < 8 && !one.is_over(); ++i) one.wait(30s);
  require(one.is_over(), "a connection ends when its time is up");
  require(one.failure().empty(), "a connection does not fail");
  const troupe::http::statistics counted = one.statistics();
  require(counted.websockets == 0 && counted.held_back == 0,
          "nothing of a connection is left behind");

  outcome result;
  const auto all = response_reader(one.heard()).read();
  result.is_websocket = !all.empty() && all.back().status == 101;
  require(one.closings().size() == (result.is_websocket ? 1 : 0),
          "a session is told once that it is over");
  const auto with = [&](unsigned status) {
    return static_cast<std::uint64_t>(std::count_if(
        all.begin(), all.end(), [&](const response& each) { return each.status == status; }));
  };
  require(counted.malformed_requests >= with(400) &&
              counted.headers_too_large == with(414) + with(431) &&
              counted.bodies_too_large == with(413) && counted.requests_timed_out >= with(408) &&
              counted.refused_origin == with(403),
          "what was refused is counted");
  for (const response& each : all) result.answers.push_back(without_date(each.text));
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = text_of(data, size);
  const std::uint64_t by = hash_of(input);
  if (by % 4 == 0) (void)hold(input, 1 + by % 3, by, end::hanging_up);
  const outcome whole = hold(input, 1, by, end::silence);
  const outcome split = hold(input, 2 + by % 5, by, end::silence);
  // Bytes ahead of a WebSocket's opening are refused; the same bytes a little later are frames.
  if (whole.is_websocket || split.is_websocket) return 0;
  require(whole.answers == split.answers, "in pieces it is answered as in one");
  return 0;
}
