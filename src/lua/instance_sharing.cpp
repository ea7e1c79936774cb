// SPDX-License-Identifier: Apache-2.0

// How an instance is notified of changes in the state that applications share.

#include <functional>
#include <memory>

#include "instance.hpp"
#include "send_with_retry.hpp"

namespace troupe::lua::detail {

notifier instance::tell_me() {
  return std::make_shared<const std::function<void(std::uint64_t)>>(
      [me = weak_ref<instance>(self(this))](std::uint64_t what) {
        const ref<instance> to = me.lock();
        if (!to) return;
        send_with_retry(to, news{what});
      });
}

instance_memberships::subscribing instance::subscribe_me() {
  return [this](const shared_topics::topic& to) { return to.subscribe(self(this)); };
}

void instance::on(const news& m) {
  programs_.told(m.what);
  handled();
}

void instance::on(const topic_value& m) {
  current().its_sharing().published(m);
  handled();
}

}  // namespace troupe::lua::detail
