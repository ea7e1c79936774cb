// SPDX-License-Identifier: Apache-2.0
#include <troupe/server/application_server.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/net/signals.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

#include "journal.hpp"
#include "units.hpp"

namespace troupe::server {
namespace {

using lua::severity;

configuration checked(configuration all) {
  if (all.tls.is_set()) {
    throw configuration_error(
        "tls.certificate is set, but this build has no TLS yet: leave [tls] out, and put a proxy "
        "in front");
  }
  expect_no_duplicates(all);
  return all;
}

http::options with_access_log(http::options options, detail::journal& to) {
  options.on_access = [&to](const http::access& line) { to.write(line); };
  return options;
}

system_options with_failures_logged(system_options options, duration deadline,
                                    detail::journal& to) {
  options.shutdown_deadline = deadline;
  options.on_failure = [&to](const failure& which) {
    to.write(severity::error, std::string(which.actor) + " failed in " +
                                  std::string(which.message) + ": " + std::string(which.what));
  };
  return options;
}

enum class phase : std::uint8_t { starting, serving, ending };

http::response readiness(phase now) {
  switch (now) {
    case phase::starting:
      return http::response::text("starting\n", 503);
    case phase::serving:
      return http::response::text("ready\n");
    case phase::ending:
      break;
  }
  return http::response::text("draining\n", 503);
}

}  // namespace

struct application_server::state {
  state(configuration all, std::vector<addition> added, std::function<configuration()> reader)
      : what(checked(std::move(all))),
        also(std::move(added)),
        again(std::move(reader)),
        log(what.log),
        system(with_failures_logged(what.system, what.stop_time, log)),
        community(
            system, [this](const lua::log_line& line) { log.write(line); }, what.shared),
        server(system, with_access_log(what.http, log)) {}

  void start_applications();
  void add_routes();
  bool stop_applications();
  bool end();
  void wait_unready();
  void take_over(const configuration& now);

  configuration what;  // as it runs; of what reloads, as it was read last
  const std::vector<addition> also;
  const std::function<configuration()> again;

  detail::journal log;
  troupe::system system;
  const lua::community community;
  std::vector<lua::application> applications;
  http::server server;
  // [phase] relaxed: whoever asks hears of it soon enough.
  atomic<phase> now{phase::starting};
  bool started = false;

  mutex run_mutex;                  // guards what follows
  condition_variable run_changed;   // `stopped`
  net::signals* waiting = nullptr;  // run() does, for these
  bool stopped = false;

  mutex reload_mutex;  // one at a time
};

void application_server::state::start_applications() {
  applications.reserve(what.applications.size());
  for (const served_application& each : what.applications) {
    applications.emplace_back(community, each.options);
    lua::application& made = applications.back();
    made.serve(server, each.route);
    if (!each.files.empty()) server.files(each.files_route, each.files);
    log.write(severity::info,
              "application " + made.name() + " has started" +
                  (made.kind() == lua::application_kind::standalone ? std::string()
                                                                    : ", served at " + each.route));
  }
}

void application_server::state::add_routes() {
  const admin_paths& paths = what.admin;
  if (!paths.health.empty()) server.health(paths.health);
  if (!paths.metrics.empty()) {
    server.metrics(paths.metrics, [among = community] { return among.figures(); });
  }
  if (!paths.ready.empty()) {
    server.route("GET", paths.ready,
                 [this](const http::request&) { return readiness(now.load(relaxed)); });  // [phase]
  }
  for (const addition& each : also) each(server, system);
}

// True if on_stop has returned in all of them, within the time that they have together.
bool application_server::state::stop_applications() {
  const time_point due = clock::now() + what.stop_time;
  bool all = true;
  for (lua::application& each : applications) {
    if (each.stop(std::max(duration{0}, due - clock::now()))) continue;
    all = false;
    log.write(severity::error, "application " + each.name() + " has not stopped within " +
                                   detail::duration_text(what.stop_time) +
                                   "; shutdown.stop_time sets how long it may take");
  }
  return all;
}

void application_server::state::wait_unready() {
  std::unique_lock lock(run_mutex);
  if (what.unready_time.count() == 0) return;
  run_changed.wait_for(lock, what.unready_time, [&] { return stopped; });
}

bool application_server::state::end() {
  now.store(phase::ending, relaxed);  // [phase]
  log.write(severity::info, "draining");
  wait_unready();
  if (!server.drain(what.http.limits.drain_time)) {
    log.write(severity::warning,
              "connections were cut that were still there after shutdown.drain_time");
  }
  const bool in_time = stop_applications();
  log.write(severity::info, in_time ? "stopped" : "stopped, but not in order");
  return in_time;
}

// What it says otherwise than what runs.
void application_server::state::take_over(const configuration& next) {
  log.reopen(next.log);
  for (const difference& each : differences(what, next)) {
    if (each.reloads) {
      log.write(severity::info, each.name + " is now " + each.now + ", was " + each.before);
    } else {
      log.write(severity::warning, each.name + " is now " + each.now + ", but stays " +
                                       each.before + " until a restart");
    }
  }
  what.log = next.log;
}

application_server::application_server(configuration all, std::vector<addition> also,
                                       std::function<configuration()> again)
    : state_(std::make_unique<state>(std::move(all), std::move(also), std::move(again))) {}

application_server::~application_server() {
  // Sessions end with the server; then nobody calls the applications any more.
  state_->server.stop();
  state_->applications.clear();
}

void application_server::start() {
  state& s = *state_;
  s.start_applications();
  s.add_routes();
  s.server.start();
  s.started = true;
  s.now.store(phase::serving, relaxed);  // [phase]
  s.log.write(severity::info,
              "listening on " + s.what.http.address + ", port " + std::to_string(s.server.port()));
}

std::uint16_t application_server::port() const noexcept { return state_->server.port(); }

int application_server::run(const std::function<void()>& serving) {
  state& s = *state_;
  net::signals asked{SIGTERM, SIGINT};
  asked.repeat(SIGHUP);
  {
    const std::lock_guard lock(s.run_mutex);
    if (s.stopped) return 0;
    s.waiting = &asked;
  }
  struct forget {
    state& of;
    ~forget() {
      const std::lock_guard lock(of.run_mutex);
      of.waiting = nullptr;
    }
  } const at_the_end{s};
  if (!s.started) start();
  if (serving) serving();
  while (asked.wait() == SIGHUP) reload();
  return s.end() ? 0 : 1;
}

void application_server::stop() {
  const std::lock_guard lock(state_->run_mutex);
  state_->stopped = true;
  state_->run_changed.notify_all();
  if (state_->waiting != nullptr) state_->waiting->cancel();
}

void application_server::reload() {
  state& s = *state_;
  const std::lock_guard lock(s.reload_mutex);
  try {
    if (s.again) {
      s.take_over(s.again());
    } else if (!s.what.file.empty()) {
      s.take_over(read_configuration(s.what.file));
    } else {
      s.log.reopen(s.what.log);
      s.log.write(severity::info, "there is no configuration to read again");
    }
  } catch (const std::exception& why) {
    s.log.write(severity::error, std::string(why.what()) + "; everything stays as it was");
  }
}

}  // namespace troupe::server
