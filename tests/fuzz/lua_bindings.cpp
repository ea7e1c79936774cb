// SPDX-License-Identifier: Apache-2.0

// The functions that scripts can call, with odd arguments, in odd orders, from odd places. An input
// is lines: the way of calling, a function's name, and arguments, which are names of odd values,
// results of earlier lines (r1, r2, …), numbers or texts. With `upgrade` as the first line, another
// version takes over in the end.

#include "lua/program.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fuzz.hpp"
#include "http/channel.hpp"
#include "lua/temporary_folder.hpp"

namespace {

using namespace troupe;
using namespace troupe::fuzz;
using namespace troupe::lua::detail;

// Every function that a script can reach is in `functions` by its name, whichever code has added
// it.
constexpr const char* main_lua = R"(
local load, pcall, xpcall, error, type, pairs, tostring, tonumber, setmetatable =
  load, pcall, xpcall, error, type, pairs, tostring, tonumber, setmetatable
local wrap, create, resume, coclose, gmatch, sort, gsub, unpack, char =
  coroutine.wrap, coroutine.create, coroutine.resume, coroutine.close, string.gmatch, table.sort,
  string.gsub, table.unpack, string.char
local after, every, sleep, room, null, array = troupe.after, troupe.every, troupe.sleep,
  troupe.room, troupe.null, troupe.array

local functions, names = {}, {}
local seen = {}
local function collect(from, prefix)
  if seen[from] then return end
  seen[from] = true
  for name, value in pairs(from) do
    if type(value) == "function" then
      functions[prefix .. name] = value
      names[#names + 1] = prefix .. name
    elseif type(value) == "table" then
      collect(value, name == "_G" and "" or prefix .. name .. ".")
    end
  end
end
collect(_G, "")
local timer = every(100, function() end)
local client = troupe.client(1)
local metrics = troupe.metrics
for kind, one in pairs({client = client, timer = timer, room = room("x"), topic = troupe.topic("x"), queue = troupe.queue("x"),
                        counter = metrics.counter("c", "?"), gauge = metrics.gauge("g", "?"), histogram = metrics.histogram("h", "?"),
                        subscription = troupe.subscribe("x", function() end)}) do
  for _, name in pairs({"send", "send_binary", "notify", "close", "is_open", "peer", "path", "header", "parameter", "join",
                        "leave", "has", "count", "members", "cancel", "track", "untrack", "list", "on_join", "on_update",
                        "on_leave", "push", "pop", "try_pop", "add", "set", "observe"}) do
    local ok, method = pcall(function() return one[name] end)
    if ok and type(method) == "function" then
      functions[kind .. ":" .. name] = method
      names[#names + 1] = kind .. ":" .. name
    end
  end
end
sort(names)

local values = {}
local function fill(who)
  local circle = {}
  circle[1] = circle
  local odd = setmetatable({}, {__index = function(_, k) return k end, __newindex = function() end,
    __len = function() return 1 << 40 end, __call = function(_, ...) return ... end,
    __tostring = function() return 7 end, __eq = function() error("eq") end, __lt = function() return true end,
    __concat = function() return "c" end, __close = function() error("close") end, __pairs = function() return error end,
    __name = "odd"})
  values = {client = who, gone = troupe.client(77), rpc = troupe.client(2), room = room("x"), timer = timer, null = null,
    empty = "", zeros = ("\0"):rep(5000), long = ("x"):rep(50000), bytes = "\xff\0\x80", huge = 1 << 62, least = math.mininteger,
    inf = math.huge, nan = 0 / 0, yes = true, no = false, circle = circle, odd = odd, array = array({1, 2, 3}),
    deep = {{{{{{{{1}}}}}}}}, holes = {1, nil, 3, [7] = 7}, keys = {[1.5] = 1, x = 2}, self = {}, fail = error,
    id = function(...) return ... end, wait = function() sleep(0) end, yield = coroutine.yield, json = '{"a":[1,2,{}]}',
    cbor = "\x82\x01\xa1\x61a\xf5", pattern = "(.-)%1", format = "%5.2s %q %d", options = {timeout = 0.001, key = "k"}}
  values["nil"] = nil
end

local last = 0
local function keep(...)
  for i = 1, 2 do
    last = last % 8 + 1
    values["r" .. last] = (select(i, ...))
  end
  return ...
end

local function value(token)
  if token == "nil" then return nil end
  local known = values[token]
  if known ~= nil then return known end
  return functions[token] or tonumber(token) or token
end

local function pick(name)
  if functions[name] then return functions[name] end
  local hash = 0
  for i = 1, #name do hash = (hash * 31 + name:byte(i)) % 1000003 end
  return functions[names[hash % #names + 1]]
end

local how = {}
function how.call(f, ...) keep(f(...)) end
function how.pcall(f, ...) keep(pcall(f, ...)) end
function how.xpcall(f, ...) local x = ... keep(xpcall(f, function(e) return f(e, x) end, ...)) end
function how.handler(f, ...) local a = {...} keep(xpcall(error, function() return f(unpack(a)) end)) end
function how.wrap(f, ...) local w = wrap(f) values.w = w keep(pcall(w, ...)) keep(pcall(w, ...)) end
function how.close(f, ...)
  local a = {...}
  local c = create(function()
    local x <close> = setmetatable({}, {__close = function() f(unpack(a)) end})
    coroutine.yield(1)
  end)
  values.c = c
  keep(resume(c))
  keep(pcall(coclose, c))
end
function how.index(f, ...) keep(pcall(function(...) return setmetatable({}, {__index = f})[...] end, ...)) end
function how.newindex(f, a, b) keep(pcall(function() setmetatable({}, {__newindex = f})[a] = b end)) end
function how.equal(f, a) keep(pcall(function() return setmetatable({}, {__eq = f, __lt = f}) == setmetatable({}, {__eq = f}) end)) end
function how.concat(f, a) keep(pcall(function() return setmetatable({}, {__concat = f}) .. tostring(a) end)) end
function how.tostring(f) keep(pcall(tostring, setmetatable({}, {__tostring = f, __name = "n"}))) end
function how.iterate(f, a, b) local n = 0 for x, y in f, a, b do keep(x, y) n = n + 1 if n > 20 then break end end end
function how.sort(f, a) keep(pcall(sort, {3, 1, a or 2, 5, 4, 9, 8}, f)) end
function how.gsub(f, s) keep(pcall(gsub, tostring(s), ".", f)) end
function how.load(f, ...) keep(pcall(load, f, ...)) end
function how.text(f, ...) keep(pcall(load, ...)) local r = values["r" .. last] if type(r) == "function" then keep(r()) end end
function how.after(f, ...) local a = {...} keep(pcall(after, 0, function() keep(f(unpack(a))) end)) end
function how.every(f, ...) local a = {...} keep(pcall(every, 0.001, function() keep(f(unpack(a))) end)) end
function how.error(f, ...) local a = {...} error(setmetatable(a, {__tostring = f})) end
function how.code(f, a, b) error({code = a, message = b}) end
function how.twice(f, ...) keep(f(...)) keep(f(...)) end
function how.set(f, a, b) values.self[a] = b end
function how.data(f, a) values.client.data.x = a end
function how.meta(f, a) keep(pcall(setmetatable, a, {__index = f, __gc = f, __close = f, __mode = "k", __metatable = a})) end

local app = {calls = {}, rpc = nil}
function app.on_message(who, data)
  fill(who)
  for line in gmatch(data, "[^\n]+") do
    local words = {}
    for word in gmatch(line, "%S+") do words[#words + 1] = word end
    local a = {}
    for i = 3, #words do a[i - 2] = value(words[i]) end
    local one = how[words[1] or ""] or how.pcall
    one(pick(words[2] or ""), unpack(a, 1, #words - 2))
  end
end
function app.on_save() return values.r1 end
function app.on_upgrade(saved) values.r1 = saved end
function app.on_close(...) keep(...) end
app.calls.echo = function(x) return x end
return app
)";

constexpr lua::store_options small_store{.bytes = 64 * 1024, .entries = 16};

lua::shared_limits small_limits() {
  lua::shared_limits small;
  small.store = small_store;
  small.topics = small.presence = 8;
  small.presence_bytes = 8 * 1024;
  small.queues = 4;
  small.queue_bytes = 64 * 1024;
  return small;
}

/// An instance without an actor. The end of the input calls everything that would come later.
class around final : public program_host, public tasks::observer {
 public:
  struct asked {
    std::uint64_t wait;
    outgoing what;
  };

  around()
      : shared_(std::make_shared<shared_state>(nullptr, small_limits()), "fuzzed", 1, small_store,
                std::make_shared<const std::function<void(std::uint64_t)>>(
                    [this](std::uint64_t what) { news.push_back(what); }),
                [](const shared_topics::topic&) { return subscription{}; }) {
    add(1, nullptr);
    add(2, std::make_shared<rpc_connection>(encoding::json));
  }

  std::string_view application() const noexcept override { return "fuzzed"; }
  unsigned instance_number() const noexcept override { return 1; }
  void log(lua::severity, std::string_view text) noexcept override {
    require(text.size() <= 80 * 1024, "a line of the log is not long");
  }
  timer wake_after(std::uint64_t what, duration) override {
    due.push_back(what);
    return {};
  }
  const client* find(std::uint64_t id) const noexcept override {
    for (const client& each : clients) {
      if (each.id == id) return &each;
    }
    return nullptr;
  }
  std::vector<std::uint64_t> client_ids() const override {
    std::vector<std::uint64_t> all;
    for (const client& each : clients) all.push_back(each.id);
    return all;
  }
  void sent_one() noexcept override { ++sent; }
  rooms& all_rooms() noexcept override { return rooms_; }
  instance_memberships& shared() noexcept override { return shared_; }
  void fetch(http::fetch, std::uint64_t wait) override {
    asks.push_back({wait, {.to = "bad", .key = {}, .method = {}, .value = "connect: nobody"}});
  }
  std::uint64_t next_connection() noexcept override { return ++connections_; }
  void connect(http::connect_websocket, std::uint64_t connection) override {
    unconnected.push_back(connection);
  }
  void ask(outgoing what, duration, std::uint64_t wait) override {
    if (what.to == "nobody") throw std::invalid_argument("nobody has that name");
    asks.push_back({wait, std::move(what)});
  }
  delivery send(outgoing) override { return delivery::accepted; }
  void handler_failed(const lua::detail::failure& why) noexcept override {
    require(!why.traceback.empty() || why.text.empty(), "a failure can be told");
  }

  void leave(std::uint64_t id) {
    std::erase_if(clients, [&](const client& each) { return each.id == id; });
    rooms_.leave_all(id);
    shared_.gone(id);
  }

  std::vector<client> clients;
  std::vector<std::uint64_t> due;
  std::vector<std::uint64_t> news;
  std::vector<std::uint64_t> unconnected;
  std::vector<asked> asks;
  std::uint64_t sent = 0;

 private:
  void add(std::uint64_t id, std::shared_ptr<rpc_connection> rpc) {
    channels_.push_back(
        std::make_shared<http::detail::channel>(http::limits{.send_queue_bytes = 100'000},
                                                http::request{}, recipient<http::detail::poke>{}));
    clients.push_back({id, channels_.back()->handle(), std::move(rpc)});
  }

  std::vector<std::shared_ptr<http::detail::channel>> channels_;
  rooms rooms_;
  std::uint64_t connections_ = 0;
  instance_memberships shared_;
};

std::shared_ptr<const application_version> version(unsigned number) {
  static const temporary_folder folder;
  folder.write("main.lua", main_lua);
  return std::make_shared<const application_version>(
      number, script_folder(folder.path() / "main.lua"),
      lua::limits{.memory_bytes = 2 << 20,
                  .memory_warning_bytes = 1 << 20,
                  .run_timeout = std::chrono::milliseconds(40),
                  .waiting = 8,
                  .timers = 8},
      R"({"a":1})");
}

/// The promised properties of a program between two messages.
void check(program& its) {
  its.tidy();
  require(lua_gettop(its.its_state().main()) == 0, "nothing is left on the stack");
  require(its.its_tasks().waiting() <= 8, "no more wait than may");
  require(its.its_state().governor().memory_peak() <= (2 << 20), "the memory is bounded");
  require(!its.its_state().governor().killed(), "what was killed is over");
}

// Delivers pending timers and replies, and some that these cause.
void go_on(program& its, around& world) {
  const auto is_over = [&] {
    return world.due.empty() && world.asks.empty() && world.news.empty() &&
           world.unconnected.empty();
  };
  for (int rounds = 0; rounds < 8 && !is_over(); ++rounds) {
    for (const std::uint64_t each : std::exchange(world.news, {})) {
      its.its_sharing().told(each);
      check(its);
    }
    for (const std::uint64_t each : std::exchange(world.unconnected, {})) {
      its.its_connections().not_opened(each, "connect: nobody");
      check(its);
    }
    for (const std::uint64_t each : std::exchange(world.due, {})) {
      if (its.is_for(each)) its.due(each);
      check(its);
    }
    for (const around::asked& each : std::exchange(world.asks, {})) {
      its.answered(each.wait, each.what.to != "bad", each.what.value);
      check(its);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) try {
  static const auto first = version(1);
  static const auto second = version(2);
  std::string_view input = text_of(data, size);
  const bool upgrades = input.starts_with("upgrade\n");
  const auto begin = std::chrono::steady_clock::now();
  {
    around world;
    program one(world, first, world);
    const auto message = [&](lua_State* in) {
      one.push_client(in, 1);
      lua_pushlstring(in, input.data(), input.size());
      lua_pushboolean(in, 0);
      return 3;
    };
    one.call(handler::message, message, std::make_unique<no_ending>());
    check(one);
    go_on(one, world);

    if (upgrades) {
      program other(world, second, world);
      std::string saved;
      if (one.save(saved).empty()) {
        (void)other.take_over(saved);
        check(other);
        one.retire();
      }
      go_on(other, world);
      other.wind_up("it is over");
    }
    world.leave(1);
    const auto closed = [&](lua_State* in) {
      one.push_client(in, 1);
      return 1;
    };
    one.call(handler::close, closed, std::make_unique<no_ending>());
    one.forget(1);
    check(one);
    one.wind_up("it is over");
    require(one.its_tasks().waiting() == 0, "nothing waits any more");
    check(one);
  }
  require(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20),
          "runs end in their time");
  return 0;
} catch (const lua::application_error&) {
  return 0;  // main.lua itself exceeded its time: the host is busy
}
