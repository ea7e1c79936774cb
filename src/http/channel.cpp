// SPDX-License-Identifier: Apache-2.0

#include "channel.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/http/session.hpp>

#include "frames.hpp"

namespace troupe::http {
namespace detail {

std::string_view frame::bytes() const noexcept {
  if (const auto* own = std::get_if<std::string>(&data)) return *own;
  const auto& shared = *std::get_if<std::shared_ptr<const std::string>>(&data);
  return shared ? std::string_view{*shared} : std::string_view{};
}

channel::channel(const limits& bounds, request upgrade, recipient<poke> connection,
                 std::string protocol, std::shared_ptr<byte_gauge> all,
                 std::unique_ptr<byte_share> of_request)
    : bytes_max_(bounds.send_queue_bytes),
      upgrade_(std::move(upgrade)),
      of_request_(std::move(of_request)),
      protocol_(std::move(protocol)),
      connection_(std::move(connection)) {
  if (all) beyond_own_.emplace(std::move(all));
}

// Sets the number of bytes that count. Fewer bytes than before always succeed.
bool channel::charge(std::size_t bytes) noexcept {
  return !beyond_own_ || beyond_own_->resize(bytes > own_bytes ? bytes - own_bytes : 0);
}

delivery channel::send(frame f) {
  std::vector<frame> dropped;
  std::unique_lock lock(mutex_);
  if (closing_) return delivery::refused;
  const std::size_t cost = f.cost();
  if (cost > bytes_max_ - bytes_ || !charge(bytes_ + cost)) {
    // The reader is too slow. The queued frames are of no more use, but their memory is.
    for (const frame& waiting : queue_) bytes_ -= waiting.cost();
    (void)charge(bytes_);
    dropped.swap(queue_);
    closing_ = overflowed_ = true;
    tell(lock);
    return delivery::refused;
  }
  queue_.push_back(std::move(f));
  bytes_ += cost;
  poke_once(lock);
  return delivery::accepted;
}

void channel::close(std::uint16_t code, std::string reason) {
  std::unique_lock lock(mutex_);
  if (closing_) return;
  queue_.push_back({std::move(reason), frame::type::close, code});
  bytes_ += queue_.back().cost();  // may exceed the limit by this frame, which is the last
  closing_ = true;
  poke_once(lock);
}

void channel::poke_once(std::unique_lock<mutex>& lock) {
  if (!std::exchange(poked_, true)) tell(lock);
}

// Sends without the lock, because a system may send a message to this channel when it handles a
// dead letter.
void channel::tell(std::unique_lock<mutex>& lock) {
  const recipient<poke> connection = connection_;
  lock.unlock();
  if (connection) connection.send(poke{});
}

void channel::take(std::vector<frame>& batch) {
  const std::lock_guard lock(mutex_);
  batch.swap(queue_);
  if (batch.empty()) poked_ = false;
}

bool channel::overflowed() const noexcept {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

void channel::sent(std::size_t cost) noexcept {
  const std::lock_guard lock(mutex_);
  bytes_ -= std::min(cost, bytes_);  // bytes_ is smaller if the channel was shut meanwhile
  (void)charge(bytes_);
}

void channel::shut(std::size_t writing) noexcept {
  std::vector<frame> dropped;
  recipient<poke> connection;
  const std::lock_guard lock(mutex_);
  closing_ = true;
  dropped.swap(queue_);
  std::swap(connection, connection_);
  bytes_ = std::min(writing, bytes_);
  (void)charge(bytes_);
}

window_place channel::place() {
  window_.take();
  return window_place{shared_from_this()};
}

void channel::handled_one() noexcept {
  if (!window_.give_back()) return;
  std::unique_lock lock(mutex_);
  tell(lock);
}

window_place::~window_place() {
  if (of_) of_->handled_one();
}

// ── The mark ──────────────────────────────────────────────────────────────────────────────────

mark channel::make_mark() {
  const std::lock_guard lock(mutex_);
  ++marks_;
  return mark{shared_from_this()};
}

bool channel::is_behind() const noexcept {
  const std::lock_guard lock(mutex_);
  return marks_ > 0;
}

void channel::caught_up() noexcept {
  std::unique_lock lock(mutex_);
  if (--marks_ == 0) tell(lock);
}

mark::~mark() {
  if (of_) of_->caught_up();
}

namespace {

using mark_envelope = troupe::detail::message_envelope<mark, false>;

void discard_mark(troupe::detail::envelope& e) noexcept {
  troupe::detail::free_envelope(static_cast<mark_envelope&>(e));
}
void run_mark(void*, troupe::detail::envelope& e) { discard_mark(e); }

// Always accepted, counts for nothing, and is never a dead letter.
constexpr troupe::detail::dispatch mark_dispatch{.run = run_mark,
                                                 .discard = discard_mark,
                                                 .message = "the mark of its connection",
                                                 .internal = true};

}  // namespace

void post_mark(troupe::detail::control_block& session, mark&& m) {
  session.deliver(*troupe::detail::make_envelope<false>(mark_dispatch, std::move(m)));
}

handed_over why_refused(troupe::detail::control_block& session, std::size_t bytes,
                        std::size_t budget) noexcept {
  // Its mailbox closes after that. Its `down` is on the way, or will be.
  if (session.line().now().ending()) return handed_over::gone;
  return bytes > budget || !session.could_take(bytes) ? handed_over::too_large
                                                      : handed_over::refused;
}

}  // namespace detail

using detail::frame;

delivery websocket::send(std::string text) const {
  return channel_->send({std::move(text), frame::type::text});
}

delivery websocket::send(std::shared_ptr<const std::string> text) const {
  return channel_->send({std::move(text), frame::type::text});
}

delivery websocket::send_binary(std::string data) const {
  return channel_->send({std::move(data), frame::type::binary});
}

delivery websocket::send_binary(std::shared_ptr<const std::string> data) const {
  return channel_->send({std::move(data), frame::type::binary});
}

void websocket::close(std::uint16_t code, std::string reason) const {
  TROUPE_EXPECTS(detail::is_close_code(code), "http::websocket: this close code must not be sent");
  channel_->close(code, std::move(reason));
}

std::string_view websocket::peer() const noexcept { return channel_->upgrade_request().peer(); }

const request& websocket::upgrade_request() const noexcept { return channel_->upgrade_request(); }

std::string_view websocket::protocol() const noexcept { return channel_->protocol(); }

}  // namespace troupe::http
