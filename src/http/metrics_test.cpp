// SPDX-License-Identifier: Apache-2.0

#include "metrics.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

using testing::HasSubstr;

TEST(metrics, dispatchers_are_distinguished_by_a_label) {
  troupe::statistics s;
  s.dispatchers = {{.name = "pool", .workers_busy = 1, .workers_parked = 2, .threads = 3},
                   {.name = "io",
                    .workers_limit = 4,
                    .threads = 5,
                    .threads_resting = 6,
                    .workers_replaced = 7,
                    .workers_stuck = 8}};
  const std::string text = detail::to_prometheus(s, {});
  for (const char* line : {"troupe_dispatcher_workers{dispatcher=\"pool\",state=\"busy\"} 1\n",
                           "troupe_dispatcher_workers{dispatcher=\"pool\",state=\"parked\"} 2\n",
                           "# TYPE troupe_dispatcher_threads "
                           "gauge\ntroupe_dispatcher_threads{dispatcher=\"pool\"} 3\n",
                           "troupe_dispatcher_workers_limit{dispatcher=\"io\"} 4\n",
                           "troupe_dispatcher_threads{dispatcher=\"io\"} 5\n",
                           "troupe_dispatcher_threads_resting{dispatcher=\"io\"} 6\n",
                           "# TYPE troupe_dispatcher_workers_replaced_total counter\n",
                           "troupe_dispatcher_workers_replaced_total{dispatcher=\"io\"} 7\n",
                           "troupe_dispatcher_workers_stuck_total{dispatcher=\"io\"} 8\n"}) {
    EXPECT_THAT(text, testing::HasSubstr(line));
  }
}

TEST(metrics, blocking_pools_are_distinguished_by_a_label) {
  troupe::statistics s;
  s.blocking_pools = {{.name = "sql",
                       .threads = 4,
                       .threads_busy = 3,
                       .calls_waiting = 5,
                       .queue_max = 1'024,
                       .calls_finished = 6,
                       .calls_failed = 7,
                       .calls_abandoned = 8,
                       .calls_refused = 9,
                       .calls_cancelled = 10,
                       .waited = std::chrono::milliseconds(1'500),
                       .ran = std::chrono::milliseconds(250)},
                      {.name = "files"}};
  const std::string text = detail::to_prometheus(s, {});
  for (const char* line : {
           "troupe_blocking_pool_threads{pool=\"sql\",state=\"busy\"} 3\n",
           "troupe_blocking_pool_threads{pool=\"sql\",state=\"idle\"} 1\n",
           "# TYPE troupe_blocking_pool_queue_calls gauge\n"
           "troupe_blocking_pool_queue_calls{pool=\"sql\"} 5\n",
           "troupe_blocking_pool_queue_limit{pool=\"sql\"} 1024\n",
           "troupe_blocking_pool_calls_total{pool=\"sql\",outcome=\"finished\"} 6\n",
           "troupe_blocking_pool_calls_total{pool=\"sql\",outcome=\"refused\"} 9\n",
           "troupe_blocking_pool_calls_total{pool=\"sql\",outcome=\"cancelled\"} 10\n",
           "troupe_blocking_pool_failures_total{pool=\"sql\"} 7\n",
           "troupe_blocking_pool_abandoned_total{pool=\"sql\"} 8\n",
           "troupe_blocking_pool_queue_seconds_total{pool=\"sql\"} 1.5\n",
           "troupe_blocking_pool_run_seconds_total{pool=\"sql\"} 0.25\n",
           "troupe_blocking_pool_threads{pool=\"files\",state=\"idle\"} 0\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(detail::to_prometheus({}, {}), testing::Not(HasSubstr("blocking_pool")));
}

TEST(metrics, every_statistic_is_exported_under_its_name) {
  const std::string text = detail::to_prometheus({.actors_alive = 3,
                                                  .actors_collected = 24,
                                                  .messages_handled = 1'000'001,
                                                  .message_bytes_waiting = 12,
                                                  .messages_refused = 13,
                                                  .messages_dropped = 14,
                                                  .messages_redirected = 15,
                                                  .pauses = 16,
                                                  .pauses_timed_out = 17,
                                                  .senders_paused = 18,
                                                  .workers_busy = 1,
                                                  .workers_parked = 7,
                                                  .workers_limit = 23,
                                                  .pool_threads = 26,
                                                  .pool_threads_resting = 27,
                                                  .workers_replaced = 28,
                                                  .workers_stuck = 29},
                                                 {.connections = 5,
                                                  .held_back = 19,
                                                  .upgrade_request_bytes = 30,
                                                  .bytes_in = 6,
                                                  .bytes_out = 7,
                                                  .refused_full = 8,
                                                  .upgrades_refused = 31,
                                                  .slow_readers_closed = 9,
                                                  .receive_pauses = 20,
                                                  .mailbox_pauses = 21,
                                                  .refusal_pauses = 22});
  for (const char* line : {
           "# TYPE troupe_actors gauge\ntroupe_actors 3\n",
           "# TYPE troupe_messages_handled_total counter\ntroupe_messages_handled_total 1000001\n",
           "troupe_workers{state=\"busy\"} 1\ntroupe_workers{state=\"parked\"} 7\n",
           "# TYPE troupe_workers_limit gauge\ntroupe_workers_limit 23\n",
           "# TYPE troupe_pool_threads gauge\ntroupe_pool_threads 26\n",
           "troupe_pool_threads_resting 27\n",
           "troupe_workers_replaced_total 28\n",
           "troupe_workers_stuck_total 29\n",
           "troupe_http_connections 5\n",
           "troupe_http_bytes_total{direction=\"in\"} 6\n",
           "troupe_http_bytes_total{direction=\"out\"} 7\n",
           "troupe_http_refused_total{reason=\"full\"} 8\n",
           "troupe_http_refused_total{reason=\"upgrade_requests\"} 31\n",
           "# TYPE troupe_http_upgrade_request_bytes gauge\n"
           "troupe_http_upgrade_request_bytes 30\n",
           "troupe_http_slow_readers_total 9\n",
           "# TYPE troupe_http_held_back gauge\ntroupe_http_held_back 19\n",
           "troupe_http_receive_pauses_total{reason=\"window\"} 20\n",
           "troupe_http_receive_pauses_total{reason=\"mailbox\"} 21\n",
           "troupe_http_receive_pauses_total{reason=\"refused\"} 22\n",
           "troupe_dead_letters_total 0\n",
           "troupe_restarts_total 0\n",
           "troupe_actors_collected_total 24\n",
           "troupe_answers_late_total 0\n",
           "troupe_failures_total 0\n",
           "troupe_mailbox_messages 0\n",
           "troupe_mailbox_depth_highest 0\n",
           "troupe_timers 0\n",
           "troupe_mailbox_bytes 12\n",
           "troupe_overload_messages_total{outcome=\"refused\"} 13\n",
           "troupe_overload_messages_total{outcome=\"dropped\"} 14\n",
           "troupe_overload_messages_total{outcome=\"redirected\"} 15\n",
           "troupe_overload_pauses_total 16\n",
           "troupe_overload_pauses_timed_out_total 17\n",
           "troupe_overload_senders_paused 18\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

using metrics_of_a_server = served;

TEST_F(metrics_of_a_server, are_served) {
  start(on_free_port(), [](http::server& s) {
    s.metrics();
    s.websocket<echo>("/echo");
  });
  raw_client socket = open("/echo");
  socket.say("hello");
  EXPECT_EQ(socket.hear(), "hello");
  raw_client c = connect();
  const answer a = c.get("/metrics");
  EXPECT_EQ(a.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(a.body, HasSubstr("\ntroupe_http_connections 2\n"));
  EXPECT_THAT(a.body, HasSubstr("\ntroupe_http_websockets 1\n"));
  EXPECT_THAT(a.body, HasSubstr("\ntroupe_http_websocket_messages_total{direction=\"in\"} 1\n"));
  // The gate, the listener, the maker of this text, two connections and a session.
  EXPECT_THAT(a.body, HasSubstr("\ntroupe_actors 6\n"));
  EXPECT_THAT(a.body, HasSubstr("\ntroupe_timers 2\n"));
}

TEST_F(metrics_of_a_server, others_are_served_with_them) {
  const auto also = [] {
    return std::vector<figure_family>{
        {.name = "jobs_total",
         .help = "Jobs done.",
         .type = figure_type::counter,
         .figures = {{.labels = {{"kind", "a\"b"}, {"of", "me"}}, .value = 3}}},
        {.name = "depth", .help = "Deep.", .type = figure_type::gauge, .figures = {{.value = 1.5}}},
        {.name = "wait",
         .help = "Long.",
         .type = figure_type::histogram,
         .figures = {{.value = 7.25, .buckets = {{0.5, 2}, {1, 3}}, .count = 4}}}};
  };
  start(on_free_port(), [&](http::server& s) { s.metrics("/metrics", also); });
  raw_client c = connect();
  const std::string text = c.get("/metrics").body;
  EXPECT_THAT(text, HasSubstr("\ntroupe_http_connections 1\n"));
  EXPECT_THAT(text, HasSubstr("\n# HELP jobs_total Jobs done.\n# TYPE jobs_total counter\n"
                              "jobs_total{kind=\"a\\\"b\",of=\"me\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\n# TYPE depth gauge\ndepth 1.5\n"));
  for (const char* line : {"wait_count 4\n", "wait_sum 7.25\n", "wait_bucket{le=\"0.5\"} 2\n",
                           "wait_bucket{le=\"1\"} 3\n", "wait_bucket{le=\"+Inf\"} 4\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(metrics_of_a_server, byte_counters_count_the_bytes_of_the_sockets) {
  start(on_free_port(), [](http::server& s) { s.websocket<echo>("/echo"); });
  raw_client c = open("/echo");
  ASSERT_TRUE(comes_true([&] { return statistics().upgraded == 1; }));
  const auto before = statistics();
  c.send(raw_client::frame(raw_client::text, std::string(1000, 'x')));
  EXPECT_EQ(c.hear().size(), 1000u);
  ASSERT_TRUE(comes_true([&] { return statistics().messages_out == 1; }));
  const auto after = statistics();
  EXPECT_EQ(after.bytes_in - before.bytes_in, 2u + 2 + 4 + 1000);  // head, size, mask
  EXPECT_EQ(after.bytes_out - before.bytes_out, 2u + 2 + 1000);
}

}  // namespace
}  // namespace troupe::http::test
