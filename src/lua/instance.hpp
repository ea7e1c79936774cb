// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <troupe/lua/call.hpp>
#include <troupe/troupe.hpp>

#include "application_state.hpp"
#include "byte_allowance.hpp"
#include "instance_memberships.hpp"
#include "messages.hpp"
#include "program_host.hpp"
#include "rooms.hpp"
#include "succession.hpp"
#include "tasks.hpp"

namespace troupe::lua::detail {

/// One instance of an application: a program, and the connections that belong to it.
///
/// An error of a script fails only the handler in which it happens. The instance itself fails, and
/// its supervisor restarts it, in two cases: main.lua or on_start fails, or the Lua state is so
/// full that no message can be handled. The connections of the failed incarnation are then closed
/// with 1012.
class instance final : public actor, private program_host, private tasks::observer {
 public:
  /// Runs main.lua, on the thread of the first turn. Errors: application_error.
  instance(std::shared_ptr<application_core> of, unsigned number);
  ~instance();

  void on_start();
  void on_stop();

  void on(client_opened&& m);
  void on(client_said&& m);
  void on(client_closed&& m);
  void on(connection_opened&& m);
  void on(connection_said&& m);
  void on(connection_closed&& m);
  void on(const wake& m);
  void on(const news& m);
  void on(const topic_value& m);
  void on(call&& m, reply<answer> owed);
  void on(const detail::wind_up&, reply<bool> owed);
  void on(detail::prepare&& m, reply<upgraded> owed);
  upgraded on(const detail::take_over&);
  void on(const detail::abandon&);
  void on(const overdue& m);

 private:
  class raw_message;
  class rpc_call;
  class owed_answer;
  class leaving_client;
  class last_words;
  class running;

  // program_host
  std::string_view application() const noexcept override;
  unsigned instance_number() const noexcept override { return number_; }
  void log(severity how, std::string_view text) noexcept override;
  timer wake_after(std::uint64_t what, duration after) override;
  const client* find(std::uint64_t id) const noexcept override;
  std::vector<std::uint64_t> client_ids() const override;
  void sent_one() noexcept override;
  rooms& all_rooms() noexcept override { return rooms_; }
  instance_memberships& shared() noexcept override { return shared_; }
  void ask(outgoing what, duration timeout, std::uint64_t wait) override;
  delivery send(outgoing what) override;
  void fetch(http::fetch what, std::uint64_t wait) override;
  std::uint64_t next_connection() noexcept override { return core_->next_client(); }
  void connect(http::connect_websocket what, std::uint64_t connection) override;

  // tasks::observer
  void handler_failed(const failure& why) noexcept override;

  [[nodiscard]] program& current() const noexcept { return programs_.current(); }
  std::unique_ptr<program> load(std::shared_ptr<const application_version> which);
  void run();
  [[nodiscard]] notifier tell_me();
  [[nodiscard]] instance_memberships::subscribing subscribe_me();

  void handled();
  void heard(const client& from, client_said&& m, channel_order::ticket begun);
  [[nodiscard]] bool is_call(const client& from, const rpc_message& message, rpc_call& its);
  [[nodiscard]] bool may_begin(const client& from, const rpc_message& message, client_said& m,
                               rpc_call& its);
  void call_ended(std::uint64_t client, channel_order::ticket which);
  void malformed(const client& from);
  void close_all(std::uint16_t code, const std::string& reason);

  const std::shared_ptr<application_core> core_;
  const unsigned number_;
  instance_counts& counts_;
  rooms rooms_;
  instance_memberships shared_;
  byte_allowance waiting_calls_;
  std::unordered_map<std::uint64_t, client> clients_;
  succession programs_;
  // Calls whose predecessor on their channel has finished.
  std::vector<std::pair<std::uint64_t, channel_order::ticket>> ready_;
  std::uint64_t memory_failures_ = 0;  // consecutive
  std::size_t fetching_bytes_ = 0;     // bodies of requests in progress
  bool wound_up_ = false;
};

}  // namespace troupe::lua::detail
