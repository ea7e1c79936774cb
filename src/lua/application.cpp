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
#include "instance_memberships.hpp"
#include "program.hpp"
#include "rpc.hpp"
#include "session.hpp"

namespace troupe::lua {
namespace {

using namespace std::chrono_literals;
using detail::instance;

// The time that a start may take in addition to the scripts' own time.
constexpr duration start_margin = 5s;

/// The environment of a program that is only checked: its calls have no effect.
class nowhere final : public detail::program_host, public detail::tasks::observer {
 public:
  explicit nowhere(const application_options& of)
      : name_(of.name),
        shared_(std::make_shared<detail::shared_state>(nullptr, shared_limits{}), of.name, 0,
                of.store,
                std::make_shared<const std::function<void(std::uint64_t)>>([](std::uint64_t) {}),
                [](const detail::shared_topics::topic&) { return subscription{}; }) {}

  std::string_view application() const noexcept override { return name_; }
  unsigned instance_number() const noexcept override { return 0; }
  void log(severity, std::string_view) noexcept override {}
  timer wake_after(std::uint64_t, duration) override { return {}; }
  const detail::client* find(std::uint64_t) const noexcept override { return nullptr; }
  std::vector<std::uint64_t> client_ids() const override { return {}; }
  void sent_one() noexcept override {}
  detail::rooms& all_rooms() noexcept override { return rooms_; }
  detail::instance_memberships& shared() noexcept override { return shared_; }
  void ask(detail::outgoing, duration, std::uint64_t) override {}
  delivery send(detail::outgoing) override { return delivery::accepted; }
  void fetch(http::fetch, std::uint64_t) override {}
  std::uint64_t next_connection() noexcept override { return 0; }
  void connect(http::connect_websocket, std::uint64_t) override {}
  void handler_failed(const detail::failure&) noexcept override {}

 private:
  const std::string& name_;
  detail::rooms rooms_;
  detail::instance_memberships shared_;
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

  [[nodiscard]] bool is_outdated() const { return latest_->scripts.is_outdated(); }
  [[nodiscard]] bool is_behind() const { return running_ != latest_; }
  [[nodiscard]] const lua::limits& limits() const noexcept { return running_->limits; }
  [[nodiscard]] const std::string& config() const noexcept { return running_->config; }

  std::string upgrade(const lua::limits& allowed, std::string config) {
    if (!top_) return "the application has been stopped";
    const std::string why_not = try_upgrade(allowed, std::move(config));
    if (why_not.empty()) {
      core_->log(severity::info, 0, "version " + std::to_string(latest_->number) + " runs");
    } else {
      core_->log(severity::error, 0,
                 "version " + std::to_string(tried_) + " was not started: " + why_not);
    }
    return why_not;
  }

  bool stop(duration deadline) {
    if (!top_) return true;
    const time_point by = later(clock::now(), deadline);
    core_->among()->remove(core_->options().name);
    // on_stop may wait.
    std::vector<ask_future<bool>> farewells;
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
    core_->end_client();
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
                             .start_timeout(2 * its.limits.run_timeout + start_margin)
                             .options(std::move(how)));
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
    const bool added =
        core_->among()->add(its.name, [core = core_, all = instances_](std::string_view key) {
          return call_target::of(all[core->instance_for(key) - 1]);
        });
    if (!added) {
      stop(1s);
      throw application_error("the name '" + its.name + "' is taken");
    }
  }

  std::string try_upgrade(const lua::limits& allowed, std::string config) {
    ++tried_;
    try {
      latest_ = std::make_shared<const detail::application_version>(
          tried_, folder_, detail::checked_limits(core_->options().name, allowed),
          std::move(config));
    } catch (const application_error& e) {
      return e.what();
    }
    if (std::string why_not = prepare_all(); !why_not.empty()) {
      for (const auto& each : instances_) each.send(detail::abandon{});
      return why_not;
    }
    return take_over_all();
  }

  std::string prepare_all() {
    const duration most = latest_->limits.upgrade_timeout;
    std::vector<ask_future<detail::upgraded>> checks;
    for (const auto& each : instances_) {
      checks.push_back(each.ask<detail::prepare>(most, latest_));
    }
    std::string why_not;
    for (auto& each : checks) {
      const auto got = each.get();
      if (!why_not.empty()) continue;
      if (got) {
        why_not = got->why_not;
      } else {
        why_not = got.error() == ask_error::timeout
                      ? "on_start and self_test did not return within upgrade_timeout"
                      : std::string("it could not be started: ").append(got.message());
      }
    }
    return why_not;
  }

  std::string take_over_all() {
    const time_point until = later(clock::now(), latest_->limits.upgrade_timeout);
    const duration spare =
        4 * std::max(latest_->limits.run_timeout, running_->limits.run_timeout) + start_margin;
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      // The instance refuses a request that comes too late, and its reply says so.
      const auto got =
          instances_[i].ask<detail::take_over>(later(until, spare) - clock::now(), until).get();
      std::string why_not = got ? got->why_not : std::string(got.message());
      if (why_not.empty()) continue;
      for (std::size_t k = i; k < instances_.size(); ++k) instances_[k].send(detail::abandon{});
      if (i > 0) {
        why_not += "; instances 1 to " + std::to_string(i) +
                   " run the new version, the others still run the old one";
      }
      return why_not;
    }
    running_ = latest_;
    return {};
  }

  // Waits until all instances have started or one has failed.
  void await_start() {
    const duration most = 4 * core_->options().limits.run_timeout + start_margin;
    const std::string why = core_->await_starts(later(clock::now(), most));
    if (why.empty()) return;
    top_.stop();
    top_.join();
    top_ = {};
    throw application_error("application '" + core_->options().name + "' does not start: " + why);
  }

  const std::shared_ptr<detail::application_core> core_;
  const application_kind kind_;
  const detail::script_folder folder_{core_->options().from};
  // The version that was tried last, whether it runs or was refused.
  std::shared_ptr<const detail::application_version> latest_ = core_->version(1);
  // The version that last took over in all instances.
  std::shared_ptr<const detail::application_version> running_ = latest_;
  unsigned tried_ = 1;
  ref<supervisor> top_;
  std::vector<ref<instance>> instances_;
};

application::application(const community& among, application_options options)
    : state_(std::make_shared<state>(among, std::move(options))) {}
application::application(application&&) noexcept = default;
application::~application() = default;

application_kind application::check(const application_options& options) {
  const auto version = std::make_shared<const detail::application_version>(
      1U, detail::script_folder(options.from), options.limits, options.config);
  nowhere around(options);
  return detail::program(around, version, around).kind();
}

const std::string& application::name() const noexcept { return state_->core().options().name; }
application_kind application::kind() const noexcept { return state_->kind(); }
void application::serve(http::server& on, std::string path) { state_->serve(on, std::move(path)); }
bool application::stop(duration deadline) { return state_->stop(deadline); }
bool application::is_outdated() const { return state_->is_outdated(); }
bool application::is_behind() const { return state_->is_behind(); }
std::string application::upgrade() { return state_->upgrade(state_->limits(), state_->config()); }
std::string application::upgrade(const lua::limits& allowed, std::string config) {
  return state_->upgrade(allowed, std::move(config));
}
application_statistics application::statistics() const { return state_->core().statistics(); }

}  // namespace troupe::lua
