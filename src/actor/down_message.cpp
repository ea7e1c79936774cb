// SPDX-License-Identifier: Apache-2.0
#include "down_message.hpp"

namespace troupe::detail {

namespace {

// With WithSender the watcher's on(down) asks for a sender; it is nobody.
template <bool WithSender>
using watch_envelope = message_envelope<down, WithSender>;

void run_watch(void*, envelope& e) { this_turn().running->add_watcher(e); }

template <bool WithSender>
void discard_watch(envelope& e) noexcept {
  free_envelope(static_cast<watch_envelope<WithSender>&>(e));
}

template <bool WithSender>
constexpr dispatch watch_dispatch{.run = run_watch,
                                  .discard = discard_watch<WithSender>,
                                  .message = "watch",
                                  .wants_sender = WithSender,
                                  .internal = true,
                                  .at_once = true};

template <bool WithSender>
envelope& make_watch(control_block& watcher, const address& watched) {
  auto* const e = make_envelope<WithSender>(watch_dispatch<WithSender>, down{});
  e->value.who = watched;
  down_access::watcher(e->value) = watcher.where();
  return *e;
}

down& content(envelope& watch) noexcept {
  return watch.how->wants_sender ? static_cast<watch_envelope<true>&>(watch).value
                                 : static_cast<watch_envelope<false>&>(watch).value;
}

}  // namespace

bool is_watch(const envelope& message) noexcept { return message.how->run == run_watch; }

void watch(control_block& watcher, const dispatch& on_down, const address& watched,
           control_block* target) {
  envelope& request = on_down.wants_sender ? make_watch<true>(watcher, watched)
                                           : make_watch<false>(watcher, watched);
  if (target != nullptr && target->try_deliver(request)) return;
  send_down(request, target != nullptr ? target->reason() : exit_reason::unknown, {}, 0);
}

void send_down(envelope& watch, exit_reason reason, const std::string& what,
               std::size_t unhandled) noexcept {
  down& d = content(watch);
  control_block* const watcher = control_block::hold(down_access::watcher(d));
  if (watcher == nullptr) {
    watch.how->discard(watch);
    return;
  }
  d.reason = reason;
  d.unhandled = unhandled;
  try {
    d.what = what;
  } catch (...) {
    // No memory for the text: the rest is what matters.
  }
  watch.how = watcher->type().on_down;
  watcher->deliver(watch);
  watcher->let_go();
}

}  // namespace troupe::detail
