// SPDX-License-Identifier: Apache-2.0
#include "trace_file.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <new>
#include <system_error>

#include "short_name.hpp"

namespace troupe::detail {

namespace {

constexpr std::size_t buffer_bytes = 64 * 1024;

std::string_view name_of(timeline_slice::kind what) {
  switch (what) {
    case timeline_slice::kind::nothing:
      break;
    case timeline_slice::kind::running:
      return "running";
    case timeline_slice::kind::searching:
      return "searching";
    case timeline_slice::kind::parked:
      return "parked";
    case timeline_slice::kind::resting:
      return "resting";
    case timeline_slice::kind::replaced:
      return "replaced";
    case timeline_slice::kind::away:
      return "away";
  }
  return "nothing";
}

// Color names of chrome://tracing. Perfetto ignores them and chooses by the slice's name. Empty:
// chrome://tracing does so, too.
std::string_view colour_of(timeline_slice::kind what) {
  switch (what) {
    case timeline_slice::kind::searching:
      return "yellow";
    case timeline_slice::kind::parked:
    case timeline_slice::kind::resting:
    case timeline_slice::kind::away:
      return "grey";
    case timeline_slice::kind::replaced:
      return "terrible";
    default:
      return {};
  }
}

// The length of the first character in UTF-8, in bytes; 0 if it is invalid.
std::size_t character_bytes(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xf5   ? 0
                            : first >= 0xf0 ? 4
                            : first >= 0xe0 ? 3
                            : first >= 0xc2 ? 2
                                            : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong, a surrogate, or beyond the last code point.
  const bool is_wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
                        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90);
  return is_wrong ? 0 : bytes;
}

}  // namespace

trace_file::trace_file(const std::string& name, std::size_t bytes_max, time_point zero)
    : bytes_max_(bytes_max), zero_(zero) {
  buffer_.reserve(buffer_bytes + 4096);
  file_.reset(std::fopen(name.c_str(), "w"));
  if (file_ == nullptr) {
    throw std::system_error(errno, std::generic_category(),
                            "the timeline cannot be written to '" + name +
                                "'; name another file in system_options::timeline or TROUPE_TRACE");
  }
  (void)std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // buffer_ is used instead
  buffer_ += "[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"Troupe\"}}";
}

// False if there is no room, or no memory.
template <class Add>
bool trace_file::event(Add&& add) noexcept {
  if (failure_ != 0 || (bytes_ + buffer_.size() >= bytes_max_ && !is_ending_)) return false;
  const std::size_t before = buffer_.size();
  try {
    buffer_ += ",\n{\"pid\":1,";
    add();
    buffer_ += '}';
  } catch (const std::bad_alloc&) {
    buffer_.resize(before);
    return false;
  }
  if (buffer_.size() >= buffer_bytes) flush();
  return true;
}

void trace_file::name_lane(unsigned lane, std::string_view name) noexcept {
  for (const bool sorts : {false, true}) {
    (void)event([&] {
      buffer_ += "\"ph\":\"M\",\"tid\":";
      number(lane);
      if (sorts) {
        buffer_ += ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":";
        number(lane);
      } else {
        buffer_ += ",\"name\":\"thread_name\",\"args\":{\"name\":\"";
        text(short_name(name));
        buffer_ += '"';
      }
      buffer_ += '}';
    });
  }
}

void trace_file::write(unsigned lane, const timeline_slice& slice) noexcept {
  using kind = timeline_slice::kind;
  const bool is_turns = slice.what == kind::running || slice.what == kind::replaced;
  const bool is_written = event([&] {
    buffer_ += "\"ph\":\"X\",\"tid\":";
    number(lane);
    buffer_ += ",\"ts\":";
    time(slice.begin);
    buffer_ += ",\"dur\":";
    microseconds(slice.end - slice.begin);
    buffer_ += ",\"cat\":\"";
    buffer_ += name_of(slice.what);
    buffer_ += "\",\"name\":\"";
    const auto& [actor, message, name] = slice.label;
    const bool has_label = is_turns && !actor.empty();
    if (!has_label) {
      buffer_ += name_of(slice.what);
    } else {
      text(short_name(actor));
      buffer_ += ": ";
      text(short_name(message));
      if (slice.what == kind::replaced) buffer_ += " (replaced)";
    }
    buffer_ += '"';
    if (const std::string_view colour = colour_of(slice.what); !colour.empty()) {
      buffer_ += ",\"cname\":\"";
      buffer_ += colour;
      buffer_ += '"';
    }
    buffer_ += ",\"args\":{";
    const char* between = "";
    const auto argument = [&](std::string_view key) {
      buffer_ += between;
      buffer_ += '"';
      buffer_ += key;
      buffer_ += "\":";
      between = ",";
    };
    if (slice.worker != 0) {
      argument("worker");
      number(slice.worker);
    }
    if (is_turns) {
      argument("messages");
      number(slice.messages);
      if (slice.waited != duration::zero()) {
        argument("waited_us");
        microseconds(slice.waited);
      }
    }
    if (has_label) {
      argument("handler");
      buffer_ += '"';
      text(actor);
      buffer_ += ": ";
      text(message);
      buffer_ += '"';
      if (name[0] != '\0') {
        argument("actor");
        buffer_ += '"';
        text(name.data());
        buffer_ += '"';
      }
    }
    buffer_ += '}';
  });
  if (!is_written) ++left_out_;
}

void trace_file::count_running(time_point now, unsigned running) noexcept {
  if (running == running_) return;
  running_ = running;
  (void)event([&] {
    buffer_ += "\"ph\":\"C\",\"name\":\"threads that run\",\"ts\":";
    time(now);
    buffer_ += ",\"args\":{\"threads\":";
    number(running);
    buffer_ += '}';
  });
}

void trace_file::flush() noexcept {
  if (failure_ == 0 && !buffer_.empty()) {
    errno = 0;
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size()) {
      failure_ = errno != 0 ? errno : EIO;
    }
    bytes_ += buffer_.size();
  }
  buffer_.clear();
}

void trace_file::end(time_point now, std::uint64_t lost) noexcept {
  is_ending_ = true;
  (void)event([&] {
    buffer_ += "\"ph\":\"i\",\"s\":\"g\",\"tid\":0,\"name\":\"end\",\"ts\":";
    time(now);
    buffer_ += ",\"args\":{\"slices_lost\":";
    number(lost);
    buffer_ += ",\"slices_left_out\":";
    number(left_out_);
    buffer_ += '}';
  });
  try {
    buffer_ += "\n]\n";
  } catch (const std::bad_alloc&) {
    // Viewers do not need it.
  }
  flush();
  errno = 0;
  if (std::fclose(file_.release()) != 0 && failure_ == 0) failure_ = errno != 0 ? errno : EIO;
}

void trace_file::number(std::uint64_t value) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  buffer_.append(digits.data(), end);
}

void trace_file::time(time_point at) { microseconds(at - zero_); }

// With three decimal places. Negative durations are written as 0.
void trace_file::microseconds(duration d) {
  const auto all = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
  const auto nanoseconds = static_cast<std::uint64_t>(all > 0 ? all : 0);
  number(nanoseconds / 1000);
  buffer_ += '.';
  const auto digit = [&](std::uint64_t unit) {
    buffer_ += static_cast<char>('0' + nanoseconds / unit % 10);
  };
  digit(100);
  digit(10);
  digit(1);
}

// Escapes text for use within quotes. Each byte that is not part of valid UTF-8 becomes a question
// mark.
void trace_file::text(std::string_view raw) {
  while (!raw.empty()) {
    const std::size_t bytes = character_bytes(raw);
    const char first = raw.front();
    if (bytes == 0) {
      buffer_ += '?';
    } else if (static_cast<unsigned char>(first) < 0x20) {
      buffer_ += ' ';
    } else {
      if (first == '"' || first == '\\') buffer_ += '\\';
      buffer_ += raw.substr(0, bytes);
    }
    raw.remove_prefix(bytes != 0 ? bytes : 1);
  }
}

}  // namespace troupe::detail
