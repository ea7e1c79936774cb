// SPDX-License-Identifier: Apache-2.0

#include "instance.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "community_state.hpp"
#include "value_codec.hpp"

namespace troupe::lua::detail {
namespace {

// After that number of consecutive messages for which there was no memory, the instance fails and
// is restarted.
constexpr std::uint64_t memory_failures_max = 8;

}  // namespace

// ── Endings ───────────────────────────────────────────────────────────────────────────────────

/// The ending of on_message: releases the message's place in its connection's window.
class instance::raw_message final : public ending {
 public:
  explicit raw_message(http::detail::window_place&& place) noexcept : place_(std::move(place)) {}
  void returned(lua_State*, int) override {}
  void failed(const failure&) noexcept override {}

 private:
  http::detail::window_place place_;
};

/// The ending of a client's request or notification.
class instance::rpc_call final : public ending {
 public:
  rpc_call(instance& by, std::uint64_t client) noexcept : by_(by), client_(client) {}
  ~rpc_call() override {
    if (ticket != 0) by_.call_ended(client_, ticket);
  }

  void returned(lua_State* in, int first) override {
    const client* const to = by_.find(client_);
    if (to == nullptr || !id) return;
    lua_settop(in, first);  // one result, the default is nil
    std::string message;
    write_result(in, first, to->rpc->as, *id, message);
    send(*to, std::move(message));
  }
  void failed(const failure& why) noexcept override {
    if (why.code) return answer(rpc_code{*why.code}, why.text);
    if (why.why != governor::verdict::none) return answer(rpc_code::killed, why.text);
    answer(rpc_code::internal_error, "the method failed; see the server's log");
  }
  void answer(rpc_code code, std::string_view text) noexcept {
    const client* const to = by_.find(client_);
    // A notification has no id, and gets no reply. A message that could not be read may have one.
    if (to == nullptr || (is_read && !id)) return;
    try {
      send(*to, error_message(to->rpc->as, id, code, text));
    } catch (const std::bad_alloc&) {
      to->socket.close(1011, "out of memory");
    }
  }
  void send(const client& to, std::string message) {
    const delivery did = is_text(to.rpc->as) ? to.socket.send(std::move(message))
                                             : to.socket.send_binary(std::move(message));
    if (did == delivery::accepted) by_.sent_one();
  }

  bool is_read = false;
  std::optional<request_id> id;      // set once it is read, if it is a request
  channel_order::ticket ticket = 0;  // 0: the call has not begun
  http::detail::window_place place;  // of its message, whose text is not kept

 private:
  instance& by_;
  const std::uint64_t client_;
};

/// The ending of a call by another application.
class instance::owed_answer final : public ending {
 public:
  owed_answer(instance& by, std::string method, reply<answer> owed) noexcept
      : by_(by), method_(std::move(method)), owed_(std::move(owed)) {}

  void returned(lua_State* in, int first) override {
    answer its;
    lua_settop(in, first);  // one result, the default is nil
    encode(in, first, encoding::cbor, its.value);
    owed_.set_value(std::move(its));
  }
  void failed(const failure& why) noexcept override { owed_.set_value(answer::error(why.text)); }
  void not_begun() noexcept override {
    by_.counts_.malformed.add();
    owed_.set_value(answer::error("'" + std::string(by_.application()) + "' has no '" + method_ +
                                  "' in its calls"));
  }

 private:
  instance& by_;
  std::string method_;
  reply<answer> owed_;
};

/// The ending of on_close: the scripts no longer need the client.
class instance::leaving_client final : public ending {
 public:
  leaving_client(instance& from, std::uint64_t id) noexcept : from_(&from), id_(id) {}
  ~leaving_client() override { from_->programs_.forget(id_); }
  void returned(lua_State*, int) override {}
  void failed(const failure&) noexcept override {}

 private:
  instance* from_;
  std::uint64_t id_;
};

/// The ending of on_stop.
class instance::last_words final : public ending {
 public:
  explicit last_words(reply<bool> owed) noexcept : owed_(std::move(owed)) {}
  void returned(lua_State*, int) override { owed_.set_value(true); }
  void failed(const failure&) noexcept override { owed_.set_value(false); }

 private:
  reply<bool> owed_;
};

/// The ending of run, which must not continue beside that of another version.
class instance::running final : public ending {
 public:
  void returned(lua_State*, int) override {}
  void failed(const failure&) noexcept override {}
  bool ends_with_its_version() const noexcept override { return true; }
};

// ── Start and end ─────────────────────────────────────────────────────────────────────────────

instance::instance(std::shared_ptr<application_core> of, unsigned number)
    : core_(std::move(of)),
      number_(number),
      counts_(core_->counts(number)),
      shared_(core_->among()->shared(), core_->options().name, number, core_->options().store,
              tell_me(), subscribe_me()),
      waiting_calls_(core_->options().limits.mailbox_bytes),
      programs_(load(core_->version(number))) {}

std::unique_ptr<program> instance::load(std::shared_ptr<const application_version> which) try {
  // `program_host` and `observer` are private bases, which make_unique cannot access.
  return std::unique_ptr<program>(new program(*this, std::move(which), *this));
} catch (const std::exception& e) {
  core_->started(e.what());
  throw;
}

instance::~instance() {
  close_all(1012, "the application is restarting");
  counts_.clients.subtract(clients_.size());  // the next incarnation has none of them
  // The endings of suspended handlers are notified while the members below still exist.
  programs_.clear();
  counts_.memory.set(0);
  counts_.waiting.set(0);
  counts_.connections.set(0);
}

void instance::on_start() {
  counts_.starts.add();
  struct starting final : ending {
    explicit starting(std::shared_ptr<std::string> why) : why_(std::move(why)) {}
    void returned(lua_State*, int) override {}
    void failed(const failure& how) noexcept override { *why_ = how.text; }
    const std::shared_ptr<std::string> why_;
  };
  // on_start may wait and fail later; the instance then counts as started.
  const auto why = std::make_shared<std::string>();
  if (current().call(
          handler::start, [](lua_State*) { return 0; }, std::make_unique<starting>(why)) ==
      tasks::outcome::failed) {
    core_->started("on_start failed: " + *why);
    throw application_error("on_start failed: " + *why);
  }
  core_->started({});
  run();
  handled();
}

void instance::run() {
  current().call(
      handler::run, [](lua_State*) { return 0; }, std::make_unique<running>());
}

void instance::on(const detail::wind_up&, reply<bool> owed) {
  close_all(1001, "the server is going away");
  wound_up_ = true;
  if (!current().has(handler::stop)) {
    owed.set_value(true);
    return;
  }
  current().call(
      handler::stop, [](lua_State*) { return 0; }, std::make_unique<last_words>(std::move(owed)));
}

void instance::on_stop() {
  if (!wound_up_) {
    current().call(
        handler::stop, [](lua_State*) { return 0; }, std::make_unique<no_ending>());
  }
  programs_.wind_up("the application has been stopped");
}

void instance::close_all(std::uint16_t code, const std::string& reason) {
  for (const auto& [id, each] : clients_) each.socket.close(code, reason);
}

// ── Clients ───────────────────────────────────────────────────────────────────────────────────

void instance::on(client_opened&& m) {
  counts_.clients.add();
  counts_.clients_ever.add();
  const std::uint64_t id = m.id;
  client& its = clients_.emplace(id, client{id, std::move(m.socket), nullptr}).first->second;
  if (const auto as = encoding_of(its.socket.protocol());
      current().kind() == application_kind::rpc && as) {
    its.rpc = std::make_shared<rpc_connection>(*as);
  }
  current().call(
      handler::open,
      [&](lua_State* in) {
        current().push_client(in, id);
        return 1;
      },
      std::make_unique<no_ending>());
  handled();
}

void instance::on(client_said&& m) {
  const auto found = clients_.find(m.id);
  if (found == clients_.end()) return;  // of the previous incarnation
  counts_.messages_in.add();
  if (found->second.rpc) {
    heard(found->second, std::move(m), 0);
    return handled();
  }
  const std::string data = std::move(m.message.data);
  const auto arguments = [&](lua_State* in) {
    current().push_client(in, m.id);
    lua_pushlstring(in, data.data(), data.size());
    lua_pushboolean(in, m.is_text ? 0 : 1);
    return 3;
  };
  current().call(handler::message, arguments,
                 std::make_unique<raw_message>(std::move(m.message.place)));
  handled();
}

// `begun` is the call's ticket if it has waited for its channel. The message is read and takes its
// turn on its channel first; only a call that begins gets a task.
void instance::heard(const client& from, client_said&& m, channel_order::ticket begun) {
  auto its = std::make_unique<rpc_call>(*this, from.id);
  its->ticket = begun;
  tasks& all = current().its_tasks();
  rpc_message message;
  const auto read = [&](lua_State* in) {
    message = from.rpc->reader.read(in, m.is_text, m.message.data);
    return 1;
  };
  if (!all.read(read, *its)) return;
  its->is_read = true;
  struct params_end {
    tasks& of;
    ~params_end() { of.forget_read(); }
  } const at_the_end{all};
  if (!is_call(from, message, *its) || !may_begin(from, message, m, *its)) return;
  its->place = std::move(m.message.place);
  rpc_call& call = *its;
  const auto push = [&](lua_State* in) {
    if (!current().push_rpc(in, message.method)) {
      call.answer(rpc_code::no_such_method, "unknown method \"" + message.method + "\"");
      return tasks::nothing;
    }
    current().push_client(in, from.id);
    tasks::push_read(in);
    return 2;
  };
  all.start(push, std::move(its));
}

// Returns false for a message that needs no call, and answers it if necessary.
bool instance::is_call(const client& from, const rpc_message& message, rpc_call& its) {
  if (message.what == rpc_message::kind::invalid) {
    its.send(from, message.answer);
    malformed(from);
    return false;
  }
  its.id = message.id;
  // Otherwise the message is a reply. No request was sent, so it is ignored.
  return message.what == rpc_message::kind::request ||
         message.what == rpc_message::kind::notification;
}

// Returns false if the call must wait for others on its channel, for which its text is kept, or if
// it is refused.
bool instance::may_begin(const client& from, const rpc_message& message, client_said& m,
                         rpc_call& its) {
  if (its.ticket != 0) return true;  // it has waited
  rpc_connection& rpc = *from.rpc;
  const auto overloaded = [&](std::string_view why) {
    counts_.overloaded.add();
    its.answer(rpc_code::overloaded, why);
    return false;
  };
  const channel_order::arrival arrival = rpc.order.arrive(message.channel, message.id);
  switch (arrival.what) {
    case channel_order::verdict::begins:
      its.ticket = arrival.call;
      return true;
    case channel_order::verdict::waits:
      if (auto counted = waiting_calls_.take(waiting_call::bytes_of(m))) {
        rpc.waiting.emplace(arrival.call, waiting_call{std::move(m), std::move(*counted)});
        return false;
      }
      rpc.order.finish(arrival.call);  // it has not begun, so no other call begins
      return overloaded("calls waiting for their channel exceed mailbox_bytes");
    case channel_order::verdict::duplicate:
      rpc.reader.count_malformed();
      its.send(from, error_message(
                         rpc.as, std::nullopt, rpc_code::invalid_request,
                         "id: " + std::to_string(*message.id) + " is in use by an open request"));
      malformed(from);
      return false;
    case channel_order::verdict::overloaded:
      break;
  }
  return overloaded("too many calls are open on this connection");
}

void instance::malformed(const client& from) {
  counts_.malformed.add();
  if (from.rpc->reader.has_seen_enough()) from.socket.close(1008, "too many malformed messages");
}

void instance::call_ended(std::uint64_t client, channel_order::ticket which) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  if (const auto next = found->second.rpc->order.finish(which)) ready_.emplace_back(client, *next);
}

void instance::on(client_closed&& m) {
  const auto found = clients_.find(m.id);
  if (found == clients_.end()) return;
  clients_.erase(found);
  counts_.clients.subtract();
  const auto arguments = [&](lua_State* in) {
    current().push_client(in, m.id);
    lua_pushinteger(in, m.code);
    lua_pushlstring(in, m.reason.data(), m.reason.size());
    return 3;
  };
  current().call(handler::close, arguments, std::make_unique<leaving_client>(*this, m.id));
  rooms_.leave_all(m.id);
  shared_.gone(m.id);
  handled();
}

const client* instance::find(std::uint64_t id) const noexcept {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : &found->second;
}

std::vector<std::uint64_t> instance::client_ids() const {
  std::vector<std::uint64_t> all;
  all.reserve(clients_.size());
  for (const auto& [id, each] : clients_) all.push_back(id);
  std::sort(all.begin(), all.end());
  return all;
}

void instance::sent_one() noexcept { counts_.messages_out.add(); }

// ── Others ────────────────────────────────────────────────────────────────────────────────────

void instance::on(call&& m, reply<answer> owed) {
  counts_.calls.add();
  const auto value = [&](lua_State* in) {
    if (const auto wrong = push_decoded(in, m.value, encoding::cbor)) {
      luaL_error(in, "the value of a call is malformed: %s", wrong->c_str());
    }
    return 1;
  };
  current().call_method(m.method, value,
                        std::make_unique<owed_answer>(*this, m.method, std::move(owed)));
  handled();
}

void instance::ask(outgoing what, duration timeout, std::uint64_t wait) {
  const call_target to = core_->among()->find(what.to, what.key);
  to.ask(timeout, {.method = std::move(what.method), .value = std::move(what.value)})
      .then([this, wait](ask_result<answer> got) {
        if (got) {
          programs_.answered(wait, got->ok, got->value);
        } else {
          programs_.answered(wait, false, got.message());
        }
        handled();
      });
}

delivery instance::send(outgoing what) {
  return core_->among()
      ->find(what.to, what.key)
      .send({.method = std::move(what.method), .value = std::move(what.value)});
}

// ── The rest ──────────────────────────────────────────────────────────────────────────────────

void instance::on(const wake& m) {
  programs_.due(m.what);
  handled();
}

timer instance::wake_after(std::uint64_t what, duration after) {
  return self(this).send_after(after, wake{what});
}

std::string_view instance::application() const noexcept { return core_->options().name; }

void instance::log(severity how, std::string_view text) noexcept { core_->log(how, number_, text); }

void instance::handler_failed(const failure& why) noexcept {
  counts_.failures.add();
  if (why.why == governor::verdict::out_of_time) counts_.out_of_time.add();
  if (why.why == governor::verdict::out_of_memory) {
    counts_.out_of_memory.add();
    ++memory_failures_;
  } else {
    memory_failures_ = 0;
  }
  log(severity::error, why.traceback);
}

// After each message.
void instance::handled() {
  while (!ready_.empty()) {
    const auto [client, ticket] = ready_.back();
    ready_.pop_back();
    const auto found = clients_.find(client);
    if (found == clients_.end()) continue;
    auto waiting = found->second.rpc->waiting.extract(ticket);
    if (waiting) heard(found->second, std::move(waiting.mapped().said), ticket);
  }
  programs_.tidy();
  const governor& its = current().its_state().governor();
  counts_.memory.set(programs_.memory());
  counts_.waiting.set(programs_.waiting());
  counts_.connections.set(programs_.connections());
  if (memory_failures_ >= memory_failures_max && its.memory() > its.allowed().memory_soft) {
    throw std::runtime_error("not enough memory for the scripts of the application");
  }
}

}  // namespace troupe::lua::detail
