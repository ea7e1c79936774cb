// SPDX-License-Identifier: Apache-2.0

#include "connections.hpp"

#include <algorithm>
#include <utility>

namespace troupe::lua::detail {

/// The ending of on_message: releases the message's place in the connection's window.
class connections::handled_message final : public ending {
 public:
  explicit handled_message(http::detail::window_place&& place) noexcept
      : place_(std::move(place)) {}
  void returned(lua_State*, int) override {}
  void failed(const failure&) noexcept override {}

 private:
  http::detail::window_place place_;
};

// ── For functions that scripts call ───────────────────────────────────────────────────────────

connection& connections::add(lua_State* in, std::uint64_t id) {
  if (all_.size() >= most_) {
    luaL_error(in, "%d connections are open already, which is the limit", static_cast<int>(most_));
  }
  return all_[id];
}

connection* connections::find(std::uint64_t id) noexcept {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : &found->second;
}

int connections::receive(lua_State* in, std::uint64_t id, connection& from) {
  if (!from.unread.empty()) {
    const connection_said first = std::move(from.unread.front());
    from.unread.pop_front();
    unread_bytes_ -= first.message.data.size();
    lua_pushlstring(in, first.message.data.data(), first.message.data.size());
    lua_pushboolean(in, first.is_text ? 0 : 1);
    return 2;
  }
  if (!from.closed) return 0;
  const connection_closed its = std::move(*from.closed);
  forget(id);
  lua_pushnil(in);
  lua_pushliteral(in, "closed");
  lua_pushinteger(in, its.code);
  lua_pushlstring(in, its.reason.data(), its.reason.size());
  return 4;
}

void connections::drop(std::uint64_t id) noexcept {
  connection* const found = find(id);
  if (found == nullptr) return;
  if (found->socket && !found->closed) found->socket->close(1000, "");
  forget(id);
}

// ── Events ────────────────────────────────────────────────────────────────────────────────────

void connections::opened(std::uint64_t id, http::websocket socket) {
  connection& its = all_.at(id);
  its.socket = std::move(socket);
  const std::uint64_t opener = std::exchange(its.opener, 0);
  tasks_.resume(opener, [this, id](lua_State* in) {
    connection* const found = find(id);
    if (found == nullptr) return 0;
    lua_rawgeti(in, LUA_REGISTRYINDEX, found->itself);
    // Without handlers it exists as long as a script refers to it.
    const bool is_called = found->on_message != LUA_NOREF || found->on_close != LUA_NOREF;
    if (!is_called) luaL_unref(in, LUA_REGISTRYINDEX, std::exchange(found->itself, LUA_NOREF));
    return 1;
  });
}

void connections::not_opened(std::uint64_t id, const std::string& why) {
  connection* const found = find(id);
  if (found == nullptr) return;
  const std::uint64_t opener = found->opener;
  forget(id);
  tasks_.resume(opener, [&](lua_State* in) {
    lua_pushnil(in);
    lua_pushlstring(in, why.data(), why.size());
    return 2;
  });
}

void connections::said(connection_said&& m) {
  const std::uint64_t id = m.id;
  connection& its = all_.at(id);
  if (its.on_message != LUA_NOREF) return call_on_message(its, std::move(m));
  const std::size_t bytes = m.message.data.size();
  const std::size_t most = state_.governor().allowed().memory_hard;
  if (its.receiver == 0 && bytes > most - std::min(most, unread_bytes_)) {
    // The bytes are not in the script's memory yet, so no other limit applies to all connections
    // together.
    if (!std::exchange(its.is_overfull, true) && its.socket) {
      its.socket->close(1013, "too many messages are queued");
    }
  }
  if (its.is_overfull) return;
  unread_bytes_ += bytes;
  its.unread.push_back(std::move(m));
  if (its.receiver != 0) wake_receiver(id, its);
}

void connections::closed(connection_closed&& m) {
  const std::uint64_t id = m.id;
  connection& its = all_.at(id);
  its.closed = std::move(m);
  if (its.receiver != 0) wake_receiver(id, its);
  connection* const found = find(id);
  if (found == nullptr) return;
  const bool is_told = found->on_message != LUA_NOREF || found->on_close != LUA_NOREF;
  if (!is_told) return;  // receive() reports it, or the object is collected
  if (found->on_close != LUA_NOREF) call_on_close(*found);
  // Messages that arrived before may still be received.
  if (connection* const still = find(id)) {
    if (still->on_message != LUA_NOREF) return forget(id);
    luaL_unref(state_.main(), LUA_REGISTRYINDEX, std::exchange(still->itself, LUA_NOREF));
  }
}

void connections::wake_receiver(std::uint64_t id, connection& of) {
  of.patience.cancel();
  tasks_.resume(std::exchange(of.receiver, 0), [this, id](lua_State* in) {
    connection* const found = find(id);
    return found == nullptr ? 0 : receive(in, id, *found);
  });
}

bool connections::timed_out(std::uint64_t wait) {
  for (auto& [id, its] : all_) {
    if (its.receiver != wait) continue;
    its.receiver = 0;
    tasks_.resume(wait, [](lua_State* in) {
      lua_pushnil(in);
      lua_pushliteral(in, "timeout");
      return 2;
    });
    return true;
  }
  return false;
}

// ── Handlers ──────────────────────────────────────────────────────────────────────────────────

void connections::call_on_message(const connection& of, connection_said&& m) {
  const std::string data = std::move(m.message.data);
  const bool is_text = m.is_text;
  const auto push = [&](lua_State* in) {
    lua_rawgeti(in, LUA_REGISTRYINDEX, of.on_message);
    lua_rawgeti(in, LUA_REGISTRYINDEX, of.itself);
    lua_pushlstring(in, data.data(), data.size());
    lua_pushboolean(in, is_text ? 0 : 1);
    return 3;
  };
  tasks_.start(push, std::make_unique<handled_message>(std::move(m.message.place)));
}

void connections::call_on_close(const connection& of) {
  const auto push = [&](lua_State* in) {
    lua_rawgeti(in, LUA_REGISTRYINDEX, of.on_close);
    lua_rawgeti(in, LUA_REGISTRYINDEX, of.itself);
    lua_pushinteger(in, of.closed->code);
    lua_pushlstring(in, of.closed->reason.data(), of.closed->reason.size());
    return 3;
  };
  tasks_.start(push, std::make_unique<no_ending>());
}

// ── Removal ───────────────────────────────────────────────────────────────────────────────────

void connections::forget(std::uint64_t id) noexcept {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  release(found->second);
  all_.erase(found);
}

void connections::release(connection& its) noexcept {
  its.patience.cancel();
  for (const connection_said& each : its.unread) unread_bytes_ -= each.message.data.size();
  its.unread.clear();
  for (int* each : {&its.itself, &its.on_message, &its.on_close}) {
    luaL_unref(state_.main(), LUA_REGISTRYINDEX, std::exchange(*each, LUA_NOREF));
  }
}

void connections::close_all(std::uint16_t code, const std::string& reason) {
  for (auto& [id, its] : all_) {
    if (its.socket && !its.closed) its.socket->close(code, reason);
  }
}

void connections::end_all(std::uint16_t code, const std::string& reason) noexcept {
  close_all(code, reason);
  for (auto& [id, its] : all_) release(its);
  all_.clear();
}

}  // namespace troupe::lua::detail
