// SPDX-License-Identifier: Apache-2.0
#include <troupe/server/application_server.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/lua/engine.hpp>
#include <troupe/net/signals.hpp>
#include <troupe/server/control.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

#include "descriptors.hpp"
#include "journal.hpp"
#include "line_quota.hpp"
#include "units.hpp"
#include "watcher.hpp"

namespace troupe::server {
namespace {

using lua::severity;

configuration checked(configuration all) {
  expect_no_duplicates(all);
  return all;
}

http::options with_access_log(http::options options, detail::journal& to) {
  options.on_access = [&to](const http::access& line) { to.write(line); };
  return options;
}

// No more connections than there are descriptors for: one more is told so, by those that are kept
// for that, and paths such as /healthz go on being answered on the connections that are there.
http::options within_descriptors(http::options options, const configuration& all,
                                 detail::journal& to) {
  const auto room = detail::room_for_connections(all, detail::raise_descriptor_limit());
  if (!room.warning.empty()) to.write(severity::warning, room.warning);
  options.limits.connections_max = room.connections_max;
  return options;
}

std::string of_trace(std::uint64_t trace) {
  return trace != 0 ? ", trace " + std::to_string(trace) : std::string();
}

// Who ends with much in his mailbox leaves as many dead letters.
constexpr std::uint64_t dead_letters_most = 100;
constexpr std::chrono::seconds dead_letters_within{1};

system_options with_events_logged(system_options options, duration deadline, detail::journal& to,
                                  detail::line_quota& dead_letters) {
  options.shutdown_deadline = deadline;
  options.on_failure = [&to](const failure& which) {
    to.write(severity::error, std::string(which.actor) + " failed in " +
                                  std::string(which.message) + ": " + std::string(which.what) +
                                  of_trace(which.trace));
  };
  options.on_dead_letter = [&to, &dead_letters,
                            also = std::move(options.on_dead_letter)](const dead_letter& which) {
    if (also) also(which);
    if (!to.writes(severity::debug)) return;
    const auto left_out = dead_letters.take(clock::now());
    if (!left_out) return;
    if (*left_out != 0) {
      to.write(severity::debug, std::to_string(*left_out) + " dead letters were not logged");
    }
    to.write(severity::debug, "dead letter: " + std::string(which.message) + " to " +
                                  to_string(which.to) + of_trace(which.trace));
  };
  return options;
}

http::figure_family access_log_figures(const detail::journal& of) {
  return {.name = "troupe_access_log_left_out_total",
          .help = "Lines of the access log dropped because of its limit or a slow disk.",
          .type = http::figure_type::counter,
          .figures = {{.value = static_cast<double>(of.left_out())}}};
}

// How often files are looked at; one that has changed is given as long to be written.
constexpr std::chrono::milliseconds watch_each{250};

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
        system(with_events_logged(what.system, what.stop_timeout, log, dead_letters)),
        community(
            system, [this](const lua::log_line& line) { log.write(line); }, what.shared),
        server(system, within_descriptors(with_access_log(what.http, log), what, log)) {}

  void start_applications();
  void add_routes();
  bool stop_applications();
  bool end();
  void wait_unready();
  command_result take_over(const configuration& now);
  void upgrade(lua::application& which, const configuration& next, command_result& told);
  void upgrade_outdated();
  command_result obey(const std::string& command);
  command_result reload();
  void tell_of_certificate();

  configuration what;  // as it runs; of what reloads, as it was read last
  const std::vector<addition> also;
  const std::function<configuration()> again;

  detail::journal log;
  detail::line_quota dead_letters{dead_letters_most, dead_letters_within};
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

  mutex reload_mutex;  // one at a time; guards what follows, and `what.log` and `what.applications`
  std::set<std::string> outdated;  // applications that had changed when they were looked at last
};

void application_server::state::start_applications() {
  log.write(severity::info,
            "applications run with " + std::string(lua::engine_name()) +
                (lua::engine_contains() ? "" : ", which is only for trusted scripts"));
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
    server.metrics(paths.metrics, [among = community, &log = log] {
      std::vector<http::figure_family> all = among.figures();
      all.push_back(access_log_figures(log));
      return all;
    });
  }
  if (!paths.ready.empty()) {
    server.route("GET", paths.ready,
                 [this](const http::request&) { return readiness(now.load(relaxed)); });  // [phase]
  }
  for (const addition& each : also) each(server, system);
}

// True if on_stop has returned in all of them, within the time that they have together.
bool application_server::state::stop_applications() {
  const std::lock_guard lock(reload_mutex);
  const time_point due = clock::now() + what.stop_timeout;
  bool all = true;
  for (lua::application& each : applications) {
    if (each.stop(std::max(duration{0}, due - clock::now()))) continue;
    all = false;
    log.write(severity::error, "application " + each.name() + " did not stop within " +
                                   detail::duration_text(what.stop_timeout) +
                                   "; increase shutdown.stop_timeout if it needs longer");
  }
  return all;
}

void application_server::state::wait_unready() {
  std::unique_lock lock(run_mutex);
  if (what.unready_delay.count() == 0) return;
  run_changed.wait_for(lock, what.unready_delay, [&] { return stopped; });
}

bool application_server::state::end() {
  now.store(phase::ending, relaxed);  // [phase]
  log.write(severity::info, "draining");
  wait_unready();
  if (!server.drain(what.http.limits.drain_timeout)) {
    log.write(severity::warning, "connections still open after shutdown.drain_timeout were closed");
  }
  const bool in_time = stop_applications();
  log.write(severity::info, in_time ? "stopped" : "stopped, but not gracefully");
  return in_time;
}

// What it says otherwise than what runs, and what the files of applications and of the certificate do.
command_result application_server::state::take_over(const configuration& next) {
  command_result told;
  // The files may have changed although the configuration has not. If they are wrong, nothing is taken over.
  const bool stays_secure = what.http.tls.is_set() && next.http.tls.is_set();
  if (stays_secure) (void)http::read_certificate(next.http.tls);
  log.reopen(next.log);
  if (stays_secure) {
    server.renew_tls(next.http.tls);
    tell_of_certificate();
  }
  for (const difference& each : differences(what, next)) {
    const bool reloads = each.reloads && (stays_secure || !each.name.starts_with("tls."));
    std::string line = each.name + " is now " + each.now;
    line.append(reloads ? ", was " : ", but stays ").append(each.before);
    if (!reloads) line += " until a restart";
    log.write(reloads ? severity::info : severity::warning, line);
    told.text += line + '\n';
  }
  what.log = next.log;
  if (stays_secure) what.http.tls = next.http.tls;
  for (lua::application& each : applications) {
    if (now.load(relaxed) == phase::ending) break;  // [phase]
    upgrade(each, next, told);
  }
  return told;
}

void application_server::state::tell_of_certificate() {
  const http::tls_certificate is = server.certificate();
  log.write(severity::info, "TLS: new connections get the certificate of " + http::to_string(is));
  if (const auto worry = http::expiry_warning(is, wall_clock::now()); !worry.empty()) {
    log.write(severity::warning, "the certificate of " + http::to_string(is) +
                                     " needs attention: " + std::string(worry) +
                                     "; replace it with a newer one and send SIGHUP");
  }
}

void application_server::state::upgrade(lua::application& which, const configuration& next,
                                        command_result& told) {
  const auto named = [&](const served_application& each) {
    return each.options.name == which.name();
  };
  const auto is = std::find_if(what.applications.begin(), what.applications.end(), named);
  const auto wanted = std::find_if(next.applications.begin(), next.applications.end(), named);
  if (wanted == next.applications.end()) return;
  lua::application_options& its = is->options;
  const lua::application_options& said = wanted->options;
  // A mailbox stays as it was made.
  lua::limits limits = said.limits;
  limits.mailbox_messages = its.limits.mailbox_messages;
  limits.mailbox_bytes = its.limits.mailbox_bytes;
  const bool changed =
      which.is_outdated() || which.is_behind() || its.config != said.config || its.limits != limits;
  if (!changed) return;
  const std::string why_not = which.upgrade(limits, said.config);
  told.text += "application " + which.name() + ": ";
  if (why_not.empty()) {
    its.limits = limits;
    its.config = said.config;
    told.text += "upgraded\n";
  } else {
    told.done = false;
    told.text += why_not + "; the old version keeps running\n";
  }
}

// A file that has changed may still be written: it is taken when it was seen to have changed twice.
void application_server::state::upgrade_outdated() {
  const std::lock_guard lock(reload_mutex);
  if (now.load(relaxed) != phase::serving) return;  // [phase]
  for (lua::application& each : applications) {
    if (!each.is_outdated()) {
      outdated.erase(each.name());
      continue;
    }
    if (outdated.insert(each.name()).second) continue;
    outdated.erase(each.name());
    try {
      (void)each.upgrade();  // it logs the outcome
    } catch (const std::exception& why) {
      log.write(severity::error, "application " + each.name() + ": " + why.what());
    }
  }
}

command_result application_server::state::obey(const std::string& command) {
  if (command == "reload") return reload();
  return {.done = false,
          .text = "unknown command '" + command + "'; the only command is 'reload'\n"};
}

command_result application_server::state::reload() {
  const std::lock_guard lock(reload_mutex);
  if (now.load(relaxed) == phase::ending) return {.done = false, .text = "draining\n"};  // [phase]
  try {
    if (again) return take_over(again());
    if (!what.file.empty()) return take_over(read_configuration(what.file));
    log.write(severity::info, "the server has no configuration file to reload");
    return take_over(configuration(what));
  } catch (const std::exception& why) {
    const std::string line = std::string(why.what()) + "; nothing was changed";
    log.write(severity::error, line);
    return {.done = false, .text = line + '\n'};
  }
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
  if (s.what.http.tls.is_set()) s.tell_of_certificate();
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
  {
    const admin_paths& admin = s.what.admin;
    std::optional<control_socket> commands;
    if (!admin.control.empty()) {
      commands.emplace(admin.control, [&](const std::string& text) { return s.obey(text); });
    }
    std::optional<detail::watcher> watching;
    if (admin.watch) watching.emplace(watch_each, [&] { s.upgrade_outdated(); });
    if (serving) serving();
    while (asked.wait() == SIGHUP) reload();
    s.now.store(phase::ending, relaxed);  // [phase] an upgrade may still go on
  }
  return s.end() ? 0 : 1;
}

void application_server::stop() {
  const std::lock_guard lock(state_->run_mutex);
  state_->stopped = true;
  state_->run_changed.notify_all();
  if (state_->waiting != nullptr) state_->waiting->cancel();
}

command_result application_server::reload() { return state_->reload(); }

}  // namespace troupe::server
