// SPDX-License-Identifier: Apache-2.0

#include "metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <sstream>
#include <utility>
#include <vector>

namespace troupe::http::detail {
namespace {

using prometheus::MetricType;

/// One figure, or one member of a family that a label distinguishes.
struct sample {
  std::uint64_t value;
  const char* label = nullptr;
  const char* label_value = nullptr;
};

/// A figure of a dispatcher.
struct figure {
  std::uint64_t dispatcher_statistics::*of;
  const char* label = nullptr;
  const char* label_value = nullptr;
};

/// A figure of a blocking pool.
struct pool_figure {
  std::function<double(const blocking_pool_statistics&)> of;
  const char* label = nullptr;
  const char* label_value = nullptr;
};

/// Metric families as text, up to a size limit.
class families {
 public:
  explicit families(std::size_t bytes_max)
      : bytes_max_(bytes_max - std::min(bytes_max, reserved_bytes)) {}

  void gauge(const char* name, const char* help, std::initializer_list<sample> samples) {
    add(name, help, MetricType::Gauge, samples);
  }
  void counter(const char* name, const char* help, std::initializer_list<sample> samples) {
    add(name, help, MetricType::Counter, samples);
  }
  /// Writes a family with one figure for each dispatcher.
  void of_dispatchers(const char* name, const char* help, MetricType type,
                      const std::vector<dispatcher_statistics>& all,
                      std::initializer_list<figure> figures) {
    if (all.empty()) return;
    prometheus::MetricFamily family{name, help, type, {}};
    for (const dispatcher_statistics& each : all) {
      for (const figure& f : figures) {
        prometheus::ClientMetric metric;
        metric.label.push_back({"dispatcher", each.name});
        if (f.label != nullptr) metric.label.push_back({f.label, f.label_value});
        const auto value = static_cast<double>(each.*f.of);
        (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = value;
        family.metric.push_back(std::move(metric));
      }
    }
    append(family);
  }
  /// Writes a family with one figure for each blocking pool.
  void of_blocking_pools(const char* name, const char* help, MetricType type,
                         const std::vector<blocking_pool_statistics>& all,
                         std::initializer_list<pool_figure> figures) {
    if (all.empty()) return;
    prometheus::MetricFamily family{name, help, type, {}};
    for (const blocking_pool_statistics& each : all) {
      for (const pool_figure& f : figures) {
        prometheus::ClientMetric metric;
        metric.label.push_back({"pool", each.name});
        if (f.label != nullptr) metric.label.push_back({f.label, f.label_value});
        (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = f.of(each);
        family.metric.push_back(std::move(metric));
      }
    }
    append(family);
  }
  void others(const std::vector<figure_family>& also) {
    for (const figure_family& each : also) {
      // So many figures do not fit, however short they are, and the text need not be made.
      if (each.figures.size() >
          (bytes_max_ - text_.size()) / std::max<std::size_t>(each.name.size(), 1)) {
        ++omitted_;
      } else {
        append(converted(each));
      }
    }
  }
  /// With the number of families that it lacks.
  [[nodiscard]] std::string text() && {
    prometheus::ClientMetric count;
    count.gauge.value = static_cast<double>(omitted_);
    text_ += text_of({omitted_name,
                      "Metric families omitted from this text for its size limit.",
                      MetricType::Gauge,
                      {std::move(count)}});
    return std::move(text_);
  }

 private:
  static constexpr const char* omitted_name = "troupe_metrics_omitted_families";
  // For that count.
  static constexpr std::size_t reserved_bytes = 256;

  static std::string text_of(const prometheus::MetricFamily& family) {
    std::ostringstream out;
    prometheus::TextSerializer{}.Serialize(out, {family});
    return std::move(out).str();
  }

  void append(const prometheus::MetricFamily& family) {
    const std::string more = text_of(family);
    if (more.size() > bytes_max_ - text_.size()) {
      ++omitted_;
    } else {
      text_ += more;
    }
  }

  static prometheus::MetricFamily converted(const figure_family& from) {
    constexpr MetricType types[] = {MetricType::Counter, MetricType::Gauge, MetricType::Histogram};
    const MetricType type = types[static_cast<std::size_t>(from.type)];
    prometheus::MetricFamily family{from.name, from.help, type, {}};
    for (const http::figure& f : from.figures) {
      prometheus::ClientMetric metric;
      for (const auto& [name, value] : f.labels) metric.label.push_back({name, value});
      if (type == MetricType::Histogram) {
        metric.histogram.sample_count = f.count;
        metric.histogram.sample_sum = f.value;
        for (const auto& b : f.buckets) metric.histogram.bucket.push_back({b.count, b.upper});
      } else {
        (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = f.value;
      }
      family.metric.push_back(std::move(metric));
    }
    return family;
  }

  void add(const char* name, const char* help, MetricType type,
           std::initializer_list<sample> samples) {
    prometheus::MetricFamily family{name, help, type, {}};
    for (const sample& s : samples) {
      prometheus::ClientMetric metric;
      if (s.label != nullptr) metric.label.push_back({s.label, s.label_value});
      const auto value = static_cast<double>(s.value);
      (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = value;
      family.metric.push_back(std::move(metric));
    }
    append(family);
  }

  const std::size_t bytes_max_;
  std::string text_;  // of at most bytes_max_
  std::size_t omitted_ = 0;
};

void add_system(families& to, const troupe::statistics& s) {
  to.gauge("troupe_actors", "Actors alive.", {{s.actors_alive}});
  to.counter("troupe_actors_spawned_total", "Actors spawned since the start.",
             {{s.actors_spawned}});
  to.counter("troupe_messages_accepted_total", "Messages put into mailboxes.",
             {{s.messages_accepted}});
  to.counter("troupe_messages_handled_total", "Messages taken out of mailboxes.",
             {{s.messages_handled}});
  to.gauge("troupe_mailbox_messages", "Messages in all mailboxes.", {{s.messages_waiting}});
  to.gauge("troupe_mailbox_depth_highest", "Highest number of messages found in one mailbox.",
           {{s.mailbox_depth_highest}});
  to.gauge("troupe_mailbox_bytes", "Bytes of the messages in all mailboxes.",
           {{s.message_bytes_waiting}});
  to.counter("troupe_overload_messages_total",
             "Messages rejected by a full mailbox or the memory budget.",
             {{s.messages_refused, "outcome", "refused"},
              {s.messages_dropped, "outcome", "dropped"},
              {s.messages_redirected, "outcome", "redirected"}});
  to.counter("troupe_overload_pauses_total",
             "Times a sender was suspended because of a full mailbox.", {{s.pauses}});
  to.counter("troupe_overload_pauses_timed_out_total",
             "Suspended senders that resumed because their timeout expired.",
             {{s.pauses_timed_out}});
  to.counter("troupe_overload_wait_cycles_total",
             "Senders that exceeded a mailbox limit to resolve a wait cycle.", {{s.wait_cycles}});
  to.gauge("troupe_overload_overdraft_bytes", "Bytes in mailboxes beyond their limits.",
           {{s.overdraft_bytes}});
  to.gauge("troupe_overload_overdraft_limit_bytes", "Limit of the overdraft in bytes.",
           {{s.overdraft_limit}});
  to.gauge("troupe_memory_budget_bytes", "Memory budget of all mailboxes in bytes.",
           {{s.memory_budget}});
  to.gauge("troupe_overload_senders_paused", "Senders suspended because of a full mailbox.",
           {{s.senders_paused}});
  to.counter("troupe_turns_total", "Turns executed by actors.", {{s.turns}});
  to.counter("troupe_dead_letters_total", "Messages sent to terminated actors.",
             {{s.dead_letters}});
  to.counter("troupe_restarts_total", "Supervised actors that were restarted.", {{s.restarts}});
  to.counter("troupe_actors_collected_total",
             "Actors collected because only a reference cycle kept them alive.",
             {{s.actors_collected}});
  to.counter("troupe_answers_late_total", "Replies that arrived after their request had ended.",
             {{s.answers_late}});
  to.counter("troupe_failures_total", "Actors terminated by an exception.", {{s.failures}});
  to.gauge("troupe_timers", "Timers armed.", {{s.timers_armed}});
  to.counter("troupe_timer_ticks_skipped_total",
             "Timer ticks skipped because the previous tick was still in the mailbox.",
             {{s.ticks_skipped}});
  to.gauge("troupe_workers",
           "Workers of all dispatchers, without threads in long-running handlers.",
           {{s.workers_busy, "state", "busy"}, {s.workers_parked, "state", "parked"}});
  to.gauge("troupe_workers_limit",
           "Workers that may run at once; fewer than exist if that was measured to be faster.",
           {{s.workers_limit}});
  to.gauge("troupe_pool_threads",
           "Threads of all dispatchers: workers, long-running handlers and idle threads.",
           {{s.pool_threads}});
  to.gauge("troupe_pool_threads_resting", "Idle threads of all dispatchers; unused threads exit.",
           {{s.pool_threads_resting}});
  to.counter("troupe_workers_replaced_total",
             "Long-running handlers whose worker another thread replaced.", {{s.workers_replaced}});
  to.counter("troupe_workers_stuck_total",
             "Long-running handlers for which no replacement thread was available.",
             {{s.workers_stuck}});
  to.gauge("troupe_own_threads", "Threads of actors that run on their own thread.",
           {{s.own_threads}});
}

void add_dispatchers(families& to, const std::vector<dispatcher_statistics>& all) {
  using one = dispatcher_statistics;
  to.of_dispatchers(
      "troupe_dispatcher_workers", "Workers of one dispatcher.", MetricType::Gauge, all,
      {{&one::workers_busy, "state", "busy"}, {&one::workers_parked, "state", "parked"}});
  to.of_dispatchers("troupe_dispatcher_workers_limit",
                    "Workers of one dispatcher that may run at once.", MetricType::Gauge, all,
                    {{&one::workers_limit}});
  to.of_dispatchers("troupe_dispatcher_threads", "Threads of one dispatcher.", MetricType::Gauge,
                    all, {{&one::threads}});
  to.of_dispatchers("troupe_dispatcher_threads_resting",
                    "Idle threads of one dispatcher; unused threads exit.", MetricType::Gauge, all,
                    {{&one::threads_resting}});
  to.of_dispatchers("troupe_dispatcher_workers_replaced_total",
                    "Long-running handlers on one dispatcher whose worker another thread replaced.",
                    MetricType::Counter, all, {{&one::workers_replaced}});
  to.of_dispatchers("troupe_dispatcher_workers_stuck_total",
                    "Long-running handlers on one dispatcher without a replacement thread.",
                    MetricType::Counter, all, {{&one::workers_stuck}});
}

void add_blocking_pools(families& to, const std::vector<blocking_pool_statistics>& all) {
  using one = blocking_pool_statistics;
  const auto idle = [](const one& s) { return s.threads - std::min(s.threads, s.threads_busy); };
  const auto seconds = [](duration time) { return std::chrono::duration<double>(time).count(); };
  to.of_blocking_pools("troupe_blocking_pool_threads", "Threads of one blocking pool.",
                       MetricType::Gauge, all,
                       {{[](const one& s) { return double(s.threads_busy); }, "state", "busy"},
                        {[&](const one& s) { return double(idle(s)); }, "state", "idle"}});
  to.of_blocking_pools("troupe_blocking_pool_queue_calls",
                       "Calls that wait for a thread of one blocking pool.", MetricType::Gauge, all,
                       {{[](const one& s) { return double(s.calls_waiting); }}});
  to.of_blocking_pools("troupe_blocking_pool_queue_limit",
                       "Calls that may wait for a thread of one blocking pool.", MetricType::Gauge,
                       all, {{[](const one& s) { return double(s.queue_max); }}});
  to.of_blocking_pools(
      "troupe_blocking_pool_calls_total",
      "Calls of one blocking pool that finished, were refused by a full queue, or never began.",
      MetricType::Counter, all,
      {{[](const one& s) { return double(s.calls_finished); }, "outcome", "finished"},
       {[](const one& s) { return double(s.calls_refused); }, "outcome", "refused"},
       {[](const one& s) { return double(s.calls_cancelled); }, "outcome", "cancelled"}});
  to.of_blocking_pools("troupe_blocking_pool_failures_total",
                       "Finished calls of one blocking pool whose function threw an exception.",
                       MetricType::Counter, all,
                       {{[](const one& s) { return double(s.calls_failed); }}});
  to.of_blocking_pools("troupe_blocking_pool_abandoned_total",
                       "Finished calls of one blocking pool whose caller no longer waited.",
                       MetricType::Counter, all,
                       {{[](const one& s) { return double(s.calls_abandoned); }}});
  to.of_blocking_pools("troupe_blocking_pool_queue_seconds_total",
                       "Time that calls of one blocking pool have waited in its queue.",
                       MetricType::Counter, all,
                       {{[&](const one& s) { return seconds(s.waited); }}});
  to.of_blocking_pools("troupe_blocking_pool_run_seconds_total",
                       "Time that the finished calls of one blocking pool have taken.",
                       MetricType::Counter, all, {{[&](const one& s) { return seconds(s.ran); }}});
}

void add_server(families& to, const http::statistics& s) {
  to.gauge("troupe_http_connections", "Open connections, including WebSockets.", {{s.connections}});
  to.gauge("troupe_http_websockets", "Open WebSockets.", {{s.websockets}});
  to.gauge("troupe_http_handlers", "Requests whose handler, a coroutine, has not responded yet.",
           {{s.handlers}});
  to.gauge("troupe_http_request_body_bytes", "Bytes of the bodies of requests in progress.",
           {{s.request_body_bytes}});
  to.gauge("troupe_http_upgrade_request_bytes",
           "Memory for the requests of open WebSockets, beyond 2 KiB of each.",
           {{s.upgrade_request_bytes}});
  to.gauge("troupe_http_held_back",
           "WebSockets that are not read because of backpressure from their sessions.",
           {{s.held_back}});
  to.counter("troupe_http_accepted_total", "Connections accepted.", {{s.accepted}});
  to.counter("troupe_http_upgraded_total", "WebSockets opened since the start.", {{s.upgraded}});
  to.counter("troupe_http_requests_total", "Requests with a response.", {{s.requests}});
  to.counter("troupe_http_websocket_messages_total", "WebSocket messages.",
             {{s.messages_in, "direction", "in"}, {s.messages_out, "direction", "out"}});
  to.counter("troupe_http_bytes_total", "Bytes through sockets; for TLS, bytes of plaintext.",
             {{s.bytes_in, "direction", "in"}, {s.bytes_out, "direction", "out"}});
  to.counter("troupe_http_refused_total",
             "Connections, WebSockets, requests and request bodies refused.",
             {{s.refused_full, "reason", "full"},
              {s.refused_per_address, "reason", "address"},
              {s.refused_origin, "reason", "origin"},
              {s.refused_host, "reason", "host"},
              {s.bodies_refused, "reason", "request_bodies"},
              {s.upgrades_refused, "reason", "upgrade_requests"}});
  to.counter("troupe_http_rejected_total",
             "Requests and messages rejected as invalid or too large.",
             {{s.malformed_requests, "reason", "malformed_request"},
              {s.headers_too_large, "reason", "header_bytes"},
              {s.bodies_too_large, "reason", "body_bytes"},
              {s.messages_too_large, "reason", "message_bytes"},
              {s.messages_without_room, "reason", "partial_messages_bytes"},
              {s.protocol_errors, "reason", "websocket_protocol"}});
  to.counter("troupe_http_timed_out_total", "Connections closed by a timeout.",
             {{s.requests_timed_out, "limit", "request"},
              {s.idle_closed, "limit", "idle"},
              {s.close_timed_out, "limit", "close"}});
  to.counter("troupe_http_slow_readers_total", "WebSockets closed for reading too slowly.",
             {{s.slow_readers_closed}});
  to.counter("troupe_http_receive_pauses_total",
             "Times reading from a WebSocket was paused for its session.",
             {{s.receive_pauses, "reason", "window"},
              {s.mailbox_pauses, "reason", "mailbox"},
              {s.refusal_pauses, "reason", "refused"}});
  to.counter("troupe_http_accept_pauses_total",
             "Times accepting was paused for lack of descriptors or memory.", {{s.accept_pauses}});
  to.counter("troupe_http_handler_failures_total", "Requests whose handler failed.",
             {{s.handler_failures}});
  to.counter("troupe_http_handlers_ended_early_total",
             "Handlers that were destroyed before their response.",
             {{s.handlers_timed_out, "reason", "timeout"},
              {s.handlers_cancelled, "reason", "client_gone"}});
  to.counter(
      "troupe_http_rate_limited_total",
      "Events beyond a rate limit of a client address: connections and handshakes that were "
      "closed, requests answered with 429, pauses in reading, floods closed with 1008, clients "
      "that disconnected during a pause.",
      {{s.rate_connections, "reason", "connections"},
       {s.rate_tls_handshakes, "reason", "tls_handshakes"},
       {s.rate_requests, "reason", "requests"},
       {s.rate_messages, "reason", "messages"},
       {s.rate_received_bytes, "reason", "received_bytes"},
       {s.message_floods, "reason", "message_flood"},
       {s.throttled_disconnects, "reason", "disconnected"}});
  to.gauge("troupe_http_rate_addresses", "Client addresses that have used up part of a rate limit.",
           {{s.rate_addresses}});
  to.counter("troupe_http_rate_addresses_evicted_total",
             "Client addresses that were forgotten early because there were too many.",
             {{s.rate_addresses_evicted}});
  to.counter("troupe_http_tls_handshakes_total", "Completed TLS handshakes.",
             {{s.tls_handshakes, "kind", "whole"}, {s.tls_resumed, "kind", "resumed"}});
  to.counter("troupe_http_tls_failed_total", "Failed TLS handshakes.",
             {{s.tls_plain_text, "reason", "plain_text"},
              {s.tls_version, "reason", "version"},
              {s.tls_alerts, "reason", "alert"},
              {s.tls_failed, "reason", "other"},
              {s.tls_gone, "reason", "gone"},
              {s.tls_cut, "reason", "cut"}});
  to.counter("troupe_http_tls_truncated_total",
             "TLS connections that ended without a close_notify alert.", {{s.tls_truncated}});
}

}  // namespace

std::string to_prometheus(const troupe::statistics& of_system, const http::statistics& of_server,
                          const std::vector<figure_family>& also, std::size_t bytes_max) {
  families all(bytes_max);
  add_system(all, of_system);
  add_dispatchers(all, of_system.dispatchers);
  add_blocking_pools(all, of_system.blocking_pools);
  add_server(all, of_server);
  all.others(also);
  return std::move(all).text();
}

}  // namespace troupe::http::detail
