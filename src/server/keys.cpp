// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include <troupe/detail/mailbox/limits.hpp>
#include <troupe/detail/scheduler/tuning.hpp>

#include "http/host_policy.hpp"
#include "http/listen_address.hpp"
#include "http/origin.hpp"
#include "http/trusted_proxies.hpp"

namespace troupe::server::detail {
namespace {

using namespace std::chrono_literals;
using lua::shared_limits;
using lua::store_options;

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t GiB = 1024 * MiB;

// The maximum that a system accepts.
constexpr std::uint64_t most_messages = troupe::detail::mailbox_limits::units_max / 4;

// Of connections, handshakes, requests and messages.
constexpr std::uint64_t most_per_second = 1'000'000;

bool is_alphanumeric(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// Clients are told apart by their addresses, which a Unix socket has not.
bool is_address(std::string_view text) {
  return !text.empty() && !http::detail::is_unix_address(text);
}

bool is_route(std::string_view text) {
  constexpr std::string_view refused = "?#%{}*";
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), [&](char c) {
           return c > ' ' && c < 0x7f && refused.find(c) == std::string_view::npos;
         });
}

bool is_route_or_none(std::string_view text) { return text.empty() || is_route(text); }

bool is_connection_key(std::string_view text) {
  if (text.empty() || text == "path") return true;
  for (const std::string_view kind : {"query:", "header:"}) {
    if (text.starts_with(kind) && text.size() > kind.size()) return true;
  }
  return false;
}

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// `check` throws std::invalid_argument for texts that are wrong.
template <class Way, class Check>
setting<configuration> texts(std::string name, Way way, const std::string& example, Check check) {
  const std::string allowed = "texts as " + in_quotes(example);
  return {.name = std::move(name),
          .allowed = allowed,
          .set =
              [=](configuration& of, const value& is) {
                const auto given = is.texts();
                if (!given) is.refuse("arrays of " + allowed);
                try {
                  check(*given);
                } catch (const std::invalid_argument& wrong) {
                  is.refuse_as(std::string("is wrong: ") + wrong.what());
                }
                way(of) = *given;
              },
          .get =
              [=](const configuration& of) {
                std::string all;
                for (const std::string& each : way(of)) {
                  all += (all.empty() ? "" : ", ") + in_quotes(each);
                }
                return "[" + all + "]";
              }};
}

void check_origins(const std::vector<std::string>& given) {
  const http::detail::origin_policy made(true, given);
}

void check_proxies(const std::vector<std::string>& given) {
  const http::detail::trusted_proxies made(given);
}

void check_host_names(const std::vector<std::string>& given) {
  const http::detail::host_policy made(true, given, {});
}

bool can_be_made(const std::filesystem::path& path) {
  return is_folder(path.has_parent_path() ? path.parent_path() : ".") && !is_folder(path);
}

// "stdout", "stderr", or a file that need not exist yet.
setting<configuration> log_to() {
  return {.name = "log.to",
          .allowed = "\"stdout\", \"stderr\", a file in an existing folder",
          .set =
              [](configuration& of, const value& is) {
                const auto given = is.text();
                if (!given || given->empty()) is.refuse("\"stdout\", \"stderr\" and files");
                of.log.to = *given;
                if (*given == "stdout" || *given == "stderr") return;
                of.log.to = is.path(*given).string();
                if (is_folder(of.log.to)) is.refuse_as("is " + in_quotes(*given) + ", a folder");
                const auto folder = std::filesystem::path(of.log.to).parent_path();
                if (!folder.empty() && !is_folder(folder)) {
                  is.refuse_as("is " + in_quotes(*given) + ", but " + in_quotes(folder.string()) +
                               " is not a folder");
                }
              },
          .get = [](const configuration& of) { return in_quotes(of.log.to); }};
}

// An address and a port, a Unix socket, or none.
setting<configuration> admin_listen() {
  const std::string allowed = "\"ADDRESS:PORT\", \"unix:PATH\", \"off\"";
  return {.name = "admin.listen",
          .allowed = allowed,
          .set =
              [=](configuration& of, const value& is) {
                const auto given = is.text();
                if (!given) is.refuse(allowed);
                if (given->empty() || *given == "off") {
                  of.admin.listen = "off";
                  return;
                }
                try {
                  (void)http::admin_options(*given);
                } catch (const std::invalid_argument&) {
                  is.refuse(allowed);
                }
                of.admin.listen = *given;
                if (!http::detail::is_unix_address(*given)) return;
                const auto path = is.path(http::detail::unix_path(*given).string());
                of.admin.listen = std::string(http::detail::unix_prefix) + path.string();
                if (!can_be_made(path)) {
                  is.refuse_as("is " + in_quotes(*given) + ", but " + in_quotes(path.string()) +
                               " is not a path of a socket, in an existing folder");
                }
              },
          .get = [](const configuration& of) { return in_quotes(of.admin.listen); }};
}

// All hosts, none, or those of a list.
setting<served_application> outgoing() {
  const std::string allowed = "true, false, hosts as [\"example.org:443\", \"*.example.org\"]";
  return {.name = "outgoing",
          .allowed = allowed,
          .set =
              [=](served_application& of, const value& is) {
                if (const auto all = is.flag()) {
                  of.options.outgoing =
                      *all ? http::allowed_hosts::all() : http::allowed_hosts::none();
                  return;
                }
                const auto given = is.texts();
                if (!given) is.refuse(allowed);
                try {
                  of.options.outgoing = http::allowed_hosts::only(*given);
                } catch (const std::invalid_argument& wrong) {
                  is.refuse_as(std::string("is wrong: ") + wrong.what());
                }
              },
          .get =
              [](const served_application& of) {
                const http::allowed_hosts& its = of.options.outgoing;
                if (its.are_all()) return std::string("true");
                if (its.list().empty()) return std::string("false");
                std::string all;
                for (const std::string& each : its.list()) {
                  all += (all.empty() ? "" : ", ") + in_quotes(each);
                }
                return "[" + all + "]";
              }};
}

setting<served_application> script_configuration() {
  return {.name = "config",
          .allowed = "a table",
          .set =
              [](served_application& of, const value& is) {
                if (!is.node().is_table()) is.refuse("tables");
                of.options.config = is.json();
              },
          .get = [](const served_application& of) { return of.options.config; }};
}

template <class Member>
auto listening(Member member) {
  return at(&configuration::http, member);
}
template <class Member>
auto http_limit(Member member) {
  return at(&configuration::http, &http::options::limits, member);
}
template <class Member>
auto tls_option(Member member) {
  return at(&configuration::http, &http::options::tls, member);
}
template <class Member>
auto system_option(Member member) {
  return at(&configuration::system, member);
}
template <class... Members>
auto shared(Members... members) {
  return at(&configuration::shared, members...);
}
template <class Member>
auto option(Member member) {
  return at(&served_application::options, member);
}
template <class Member>
auto lua_limit(Member member) {
  return at(&served_application::options, &lua::application_options::limits, member);
}

template <class Member>
auto own_store(Member member) {
  return at(&served_application::options, &lua::application_options::store, member);
}

template <class Owner, class Way>
setting<Owner> on_full(std::string name, Way way) {
  return word<Owner>(std::move(name), way,
                     {{"refuse", lua::on_full::refuse}, {"evict", lua::on_full::evict}});
}

std::vector<setting<configuration>> make_server_keys() {
  using of = configuration;
  using limits = http::limits;
  using tls = http::tls_options;
  using admin = admin_configuration;
  const std::string route = "paths as \"/metrics\"; \"\" for none";
  return {
      text<of>("listen.address", listening(&http::options::address), "addresses, names",
               is_address),
      number<of>("listen.port", listening(&http::options::port), 0, 65'535),
      number<of>("listen.loops", listening(&http::options::loops), 1, 256),
      flag<of>("listen.check_origin", listening(&http::options::check_origin)),
      texts("listen.allowed_origins", listening(&http::options::allowed_origins),
            "https://example.org", check_origins),
      texts("listen.trusted_proxies", listening(&http::options::trusted_proxies), "10.0.0.0/8",
            check_proxies),
      word<of>("listen.proxy_header", listening(&http::options::proxy_header),
               {{"any", http::proxy_header::any},
                {"forwarded", http::proxy_header::forwarded},
                {"x-forwarded-for", http::proxy_header::x_forwarded_for}}),

      // From one certificate to another. Turning TLS on or off requires a restart: see
      // application_server.
      reloading(path<of>("tls.certificate", tls_option(&tls::certificate), "a file", is_file)),
      reloading(path<of>("tls.key", tls_option(&tls::key), "a file", is_file)),
      reloading(word<of>("tls.min_version", tls_option(&tls::min_version),
                         {{"1.2", http::tls_version::v1_2}, {"1.3", http::tls_version::v1_3}})),

      size<of>("limits.header_bytes", http_limit(&limits::header_bytes), 256, MiB),
      size<of>("limits.body_bytes", http_limit(&limits::body_bytes), 1, GiB),
      size<of>("limits.request_bodies_bytes", http_limit(&limits::request_bodies_bytes), 1,
               1024 * GiB),
      size<of>("limits.message_bytes", http_limit(&limits::message_bytes), 1, GiB),
      number<of>("limits.connections_max", http_limit(&limits::connections_max), 1, 1'000'000),
      number<of>("limits.connections_per_address_max",
                 http_limit(&limits::connections_per_address_max), 1, 1'000'000),
      time<of>("limits.handshake_timeout", http_limit(&limits::handshake_timeout), 10ms, 24h),
      time<of>("limits.request_timeout", http_limit(&limits::request_timeout), 10ms, 24h),
      time<of>("limits.idle_timeout", http_limit(&limits::idle_timeout), 10ms, 24h),
      size<of>("limits.read_bytes_per_second", http_limit(&limits::read_bytes_per_second), 1, GiB),
      time<of>("limits.close_timeout", http_limit(&limits::close_timeout), 10ms, 24h),
      size<of>("limits.send_queue_bytes", http_limit(&limits::send_queue_bytes), KiB, GiB),
      size<of>("limits.send_queues_bytes", http_limit(&limits::send_queues_bytes), KiB, 1024 * GiB),
      size<of>("limits.partial_messages_bytes", http_limit(&limits::partial_messages_bytes), KiB,
               1024 * GiB),
      size<of>("limits.upgrade_requests_bytes", http_limit(&limits::upgrade_requests_bytes), KiB,
               1024 * GiB),
      number<of>("limits.receive_window", http_limit(&limits::receive_window), 1, 65'536),

      number<of>("limits.connections_per_second", http_limit(&limits::connections_per_second), 0,
                 most_per_second),
      number<of>("limits.connections_burst", http_limit(&limits::connections_burst), 0,
                 most_per_second),
      number<of>("limits.tls_handshakes_per_second", http_limit(&limits::tls_handshakes_per_second),
                 0, most_per_second),
      number<of>("limits.tls_handshakes_burst", http_limit(&limits::tls_handshakes_burst), 0,
                 most_per_second),
      number<of>("limits.requests_per_second", http_limit(&limits::requests_per_second), 0,
                 most_per_second),
      number<of>("limits.requests_burst", http_limit(&limits::requests_burst), 0, most_per_second),
      number<of>("limits.messages_per_second", http_limit(&limits::messages_per_second), 0,
                 most_per_second),
      number<of>("limits.messages_burst", http_limit(&limits::messages_burst), 0, most_per_second),
      number<of>("limits.throttled_messages_max", http_limit(&limits::throttled_messages_max), 1,
                 1'000'000'000),
      size<of>("limits.received_bytes_per_second", http_limit(&limits::received_bytes_per_second),
               0, GiB),
      size<of>("limits.received_bytes_burst", http_limit(&limits::received_bytes_burst), 0, GiB),
      number<of>("limits.rate_addresses_max", http_limit(&limits::rate_addresses_max), 1,
                 100'000'000),
      size<of>("limits.rate_addresses_bytes", http_limit(&limits::rate_addresses_bytes), 64 * KiB,
               64 * GiB),

      time<of>("shutdown.unready_delay", at(&of::unready_delay), 0ms, 1h),
      time<of>("shutdown.drain_timeout", http_limit(&limits::drain_timeout), 10ms, 24h),
      time<of>("shutdown.stop_timeout", at(&of::stop_timeout), 10ms, 24h),

      number<of>("system.workers", system_option(&system_options::workers), 0, 1'024),
      number<of>("system.max_threads", system_option(&system_options::max_threads), 1,
                 troupe::detail::tuning::most_threads),
      number<of>("system.turn_messages", system_option(&system_options::turn_messages), 1,
                 1'000'000),
      number<of>("system.spin_rounds", system_option(&system_options::spin_rounds), 1, 1'000'000),
      number<of>("system.max_messages", system_option(&system_options::max_messages), 1,
                 most_messages),
      size<of>("system.max_bytes", system_option(&system_options::max_bytes), 1, 1024 * GiB),

      size<of>("shared.store.bytes", shared(&shared_limits::store, &store_options::bytes), KiB,
               1024 * GiB),
      number<of>("shared.store.entries", shared(&shared_limits::store, &store_options::entries), 1,
                 1'000'000'000),
      on_full<of>("shared.store.on_full", shared(&shared_limits::store, &store_options::on_full)),
      number<of>("shared.topics", shared(&shared_limits::topics), 1, 100'000'000),
      number<of>("shared.presence", shared(&shared_limits::presence), 1, 100'000'000),
      size<of>("shared.presence_bytes", shared(&shared_limits::presence_bytes), KiB, 1024 * GiB),
      number<of>("shared.queues", shared(&shared_limits::queues), 1, 1'000'000),
      size<of>("shared.queue_bytes", shared(&shared_limits::queue_bytes), KiB, 1024 * GiB),
      number<of>("shared.application_percent", shared(&shared_limits::application_percent), 1, 100),

      reloading(word<of>("log.level", at(&of::log, &log_options::level),
                         {{"debug", lua::severity::debug},
                          {"info", lua::severity::info},
                          {"warning", lua::severity::warning},
                          {"error", lua::severity::error}})),
      reloading(log_to()),
      reloading(word<of>("log.format", at(&of::log, &log_options::format),
                         {{"text", log_format::text}, {"json", log_format::json}})),
      reloading(flag<of>("log.access", at(&of::log, &log_options::access))),
      reloading(number<of>("log.access_per_second", at(&of::log, &log_options::access_per_second),
                           1, 1'000'000)),

      admin_listen(),
      texts("admin.host_names", at(&of::admin, &admin::host_names), "admin.internal",
            check_host_names),
      flag<of>("admin.public_health", at(&of::admin, &admin::public_health)),
      size<of>("admin.metrics_bytes", at(&of::admin, &admin::metrics_bytes), 64 * KiB, GiB),
      text<of>("admin.health", at(&of::admin, &admin::health), route, is_route_or_none),
      text<of>("admin.ready", at(&of::admin, &admin::ready), route, is_route_or_none),
      text<of>("admin.metrics", at(&of::admin, &admin::metrics), route, is_route_or_none),
      path<of>("admin.control", at(&of::admin, &admin::control),
               "a path of a socket, in an existing folder", can_be_made),
      flag<of>("admin.watch", at(&of::admin, &admin::watch)),
  };
}

std::vector<setting<served_application>> make_application_keys() {
  using of = served_application;
  using options = lua::application_options;
  using limits = lua::limits;
  return {
      required(path<of>("from", option(&options::from), "a folder with main.lua or a file of Lua",
                        is_application)),
      text<of>("route", at(&of::route), "paths as \"/echo\"", is_route),
      number<of>("instances", option(&options::instances), 1, 1'024),
      text<of>("key", option(&options::key), "\"\", \"path\", \"query:NAME\", \"header:NAME\"",
               is_connection_key),
      path<of>("files", at(&of::files), "a folder", is_folder),
      text<of>("files_route", at(&of::files_route), "paths as \"/echo/\"", is_route),
      outgoing(),
      path<of>("outgoing_trusted", option(&options::outgoing_trusted), "a file", is_file),
      size<of>("outgoing_bytes", option(&options::outgoing_bytes), 64 * KiB, 64 * GiB),
      reloading(script_configuration()),

      reloading(size<of>("limits.memory_bytes", lua_limit(&limits::memory_bytes), MiB, 64 * GiB)),
      reloading(size<of>("limits.memory_warning_bytes", lua_limit(&limits::memory_warning_bytes),
                         MiB, 64 * GiB)),
      reloading(time<of>("limits.run_timeout", lua_limit(&limits::run_timeout), 1ms, 1h)),
      number<of>("limits.mailbox_messages", lua_limit(&limits::mailbox_messages), 1, most_messages),
      size<of>("limits.mailbox_bytes", lua_limit(&limits::mailbox_bytes), KiB, 64 * GiB),
      reloading(number<of>("limits.waiting", lua_limit(&limits::waiting), 1, 1'000'000)),
      reloading(number<of>("limits.timers", lua_limit(&limits::timers), 1, 1'000'000)),
      reloading(number<of>("limits.connections", lua_limit(&limits::connections), 0, 100'000)),
      reloading(
          number<of>("limits.subscriptions", lua_limit(&limits::subscriptions), 1, 1'000'000)),
      reloading(number<of>("limits.metrics", lua_limit(&limits::metrics), 1, 1'000'000)),
      size<of>("limits.metrics_bytes", lua_limit(&limits::metrics_bytes), KiB, 64 * MiB),
      reloading(time<of>("limits.upgrade_timeout", lua_limit(&limits::upgrade_timeout), 10ms, 1h)),

      size<of>("store.bytes", own_store(&store_options::bytes), KiB, 1024 * GiB),
      number<of>("store.entries", own_store(&store_options::entries), 1, 1'000'000'000),
      on_full<of>("store.on_full", own_store(&store_options::on_full)),
  };
}

}  // namespace

const std::vector<setting<configuration>>& server_keys() {
  static const std::vector<setting<configuration>> all = make_server_keys();
  return all;
}

const std::vector<setting<served_application>>& application_keys() {
  static const std::vector<setting<served_application>> all = make_application_keys();
  return all;
}

served_application application_named(std::string name) {
  served_application made;
  made.route = "/" + name;
  made.files_route = made.route + "/";
  made.options.name = std::move(name);
  return made;
}

bool is_application_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 64 && is_alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; });
}

bool is_application(const std::filesystem::path& path) {
  return is_folder(path) ? is_file(path / "main.lua") : path.extension() == ".lua" && is_file(path);
}

}  // namespace troupe::server::detail
