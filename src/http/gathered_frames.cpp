// SPDX-License-Identifier: Apache-2.0

#include "gathered_frames.hpp"

#include <algorithm>

namespace troupe::http::detail {

void gathered_frames::add(opcode what, std::string_view payload) {
  if (payload.size() <= copied_payload_bytes_max) return append_frame(copied_, what, payload);
  append_frame_head(copied_, what, payload.size());
  left_.push_back({copied_.size(), payload});
  left_bytes_ += payload.size();
}

bool gathered_frames::is_full() const noexcept {
  return copied_.size() + left_bytes_ >= write_bytes || left_.size() == left_max;
}

gathered_frames::list gathered_frames::all() const noexcept {
  list buffers;
  std::size_t skipped = done_;
  const auto add = [&](std::string_view part) {
    const std::size_t before = std::min(skipped, part.size());
    skipped -= before;
    buffers.add(part.data() + before, part.size() - before);
  };
  const std::string_view copied{copied_};
  std::size_t from = 0;
  for (const uncopied& p : left_) {
    add(copied.substr(from, p.behind - from));
    add(p.bytes);
    from = p.behind;
  }
  add(copied.substr(from));
  return buffers;
}

bool gathered_frames::wrote(std::size_t bytes) noexcept {
  done_ += bytes;
  return done_ == copied_.size() + left_bytes_;
}

void gathered_frames::clear() noexcept {
  done_ = left_bytes_ = 0;
  copied_.clear();
  if (copied_.capacity() > kept_bytes_max) std::string{}.swap(copied_);
  if (left_.capacity() > 0) std::vector<uncopied>{}.swap(left_);
}

}  // namespace troupe::http::detail
