// SPDX-License-Identifier: Apache-2.0

#include <troupe/lua/application.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <troupe/supervision/supervisor.hpp>

#include "application_state.hpp"
#include "community_state.hpp"
#include "instance.hpp"
#include "participation.hpp"
#include "program.hpp"
#include "rpc.hpp"
#include "session.hpp"

namespace troupe::lua {
namespace {

using namespace std::chrono_literals;
using detail::instance;

// What a start may take beside the scripts' own time.
constexpr duration start_margin = 5s;

/// Around a program that is only looked at: nothing happens.
class nowhere final : public detail::surroundings, public detail::tasks::observer {
 public:
  explicit nowhere(const application_options& of)
      : name_(of.name),
        shared_(std::make_shared<detail::commons>(nullptr, shared_limits{}), of.name, 0, of.store,
                std::make_shared<const std::function<void(std::uint64_t)>>([](std::uint64_t) {}),
                [](const detail::shared_topics::topic&) { return subscription{}; }) {}

  std::string_view application() const noexcept override { return name_; }
  unsigned instance_number() const noexcept override { return 0; }
  void log(severity, std::string_view) noexcept override {}
  timer wake_after(std::uint64_t, duration) override { return {}; }
  const detail::client* find(std::uint64_t) const noexcept override { return nullptr; }
  void sent_one() noexcept override {}
  detail::rooms& all_rooms() noexcept override { return rooms_; }
  detail::participation& shared() noexcept override { return shared_; }
  void ask(detail::outgoing, duration, std::uint64_t) override {}
  delivery send(detail::outgoing) override { return delivery::accepted; }
  void handler_failed(const detail::failure&) noexcept override {}

 private:
  const std::string& name_;
  detail::rooms rooms_;
  detail::participation shared_;
};

}  // namespace

class application::state {
 public:
  state(const community& among, application_options options)
      : core_(std::make_shared<detail::application_core>(among, std::move(options))),
        kind_(check(core_->options())) {
    start();
  }
  ~state() { stop(10s); }

  [[nodiscard]] const detail::application_core& core() const noexcept { return *core_; }
  [[nodiscard]] application_kind kind() const noexcept { return kind_; }

  void serve(http::server& on, std::string path) {
    if (kind_ == application_kind::standalone) return;
    http::websocket_options how;
    if (kind_ == application_kind::rpc) {
      for (const detail::encoding as : {detail::encoding::json, detail::encoding::cbor}) {
        how.protocols.emplace_back(detail::subprotocol_of(as));
      }
      how.require_protocol = true;
    }
    on.websocket<detail::session>(std::move(path), std::move(how), core_);
  }

  bool stop(duration deadline) {
    if (!top_) return true;
    const time_point by = later(clock::now(), deadline);
    core_->among()->remove(core_->options().name);
    // on_stop may wait for something.
    std::vector<asking<bool>> farewells;
    for (const auto& each : instances_) {
      farewells.push_back(each.ask<detail::wind_up>(deadline));
    }
    bool all = true;
    for (auto& each : farewells) all &= each.get().has_value();
    instances_.clear();
    core_->set_instances({});
    top_.stop();
    all &= top_.join_until(by).has_value();
    top_ = {};
    return all;
  }

 private:
  void start() {
    const application_options& its = core_->options();
    troupe::system& system = core_->among()->system();
    std::vector<child_spec> children;
    for (unsigned i = 1; i <= its.instances; ++i) {
      spawn_options how;
      how.max_messages = its.limits.mailbox_messages;
      how.max_bytes = its.limits.mailbox_bytes;
      children.push_back(child<instance>(its.name + "/" + std::to_string(i), core_, i)
                             .starts_within(2 * its.limits.run_time + start_margin)
                             .spawned(std::move(how)));
    }
    supervision rules;
    rules.max_restarts = supervision::unlimited;
    rules.min_backoff = 100ms;
    top_ = system.spawn<supervisor>(spawn_options{.name = its.name}, rules, children);
    for (const child_spec& each : children) {
      auto found = top_.ask<find_child<instance>>(no_timeout, each.name()).get();
      instances_.push_back(std::move(found.value()));
    }
    core_->set_instances(instances_);
    core_->among()->show(core_);
    await_start();
    const bool added = core_->among()->add(its.name, [core = core_.get()](std::string_view key) {
      return call_target::of(core->at(core->instance_for(key)));
    });
    if (!added) {
      stop(1s);
      throw application_error("the name '" + its.name + "' is taken");
    }
  }

  // All that are to start have, or one has not.
  void await_start() {
    const duration most = 4 * core_->options().limits.run_time + start_margin;
    const std::string why = core_->await_starts(later(clock::now(), most));
    if (why.empty()) return;
    top_.stop();
    top_.join();
    top_ = {};
    throw application_error("application '" + core_->options().name + "' does not start: " + why);
  }

  const std::shared_ptr<detail::application_core> core_;
  const application_kind kind_;
  ref<supervisor> top_;
  std::vector<ref<instance>> instances_;
};

application::application(const community& among, application_options options)
    : state_(std::make_shared<state>(among, std::move(options))) {}
application::application(application&&) noexcept = default;
application::~application() = default;

application_kind application::check(const application_options& options) {
  const detail::script_folder scripts(options.from);
  nowhere around(options);
  return detail::program(around, scripts, options.limits, options.config, around).kind();
}

const std::string& application::name() const noexcept { return state_->core().options().name; }
application_kind application::kind() const noexcept { return state_->kind(); }
void application::serve(http::server& on, std::string path) { state_->serve(on, std::move(path)); }
bool application::stop(duration deadline) { return state_->stop(deadline); }
application_statistics application::statistics() const { return state_->core().statistics(); }

}  // namespace troupe::lua
