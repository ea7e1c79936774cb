-- Shows who is in the lobby, on any instance: with `instances = 4`, clients of all four see each
-- other. They use the rpc protocol (docs/protocol.md).
local app = { rpc = {} }
local lobby = troupe.topic("lobby") -- clients of all instances
local here = troupe.room("lobby") -- clients of this instance
local visits = troupe.metrics.counter("visits", "Names that have entered the lobby.")

-- Each instance is notified of each change, and notifies its own clients.
local function tell(method)
  return function(who) here:notify(method, { id = who.id, name = who.meta.name }) end
end
lobby:on_join(tell("came"))
lobby:on_update(tell("renamed"))
lobby:on_leave(tell("went"))

function app.rpc.enter(client, name)
  if type(name) ~= "string" or name == "" then error({ code = 1, message = "say a name" }) end
  here:join(client)
  lobby:join(client)
  local is_new, why = lobby:track(client, { name = name })
  if why then error({ code = 2, message = "the lobby is full" }) end
  if is_new then visits:add() end
  local names = troupe.array()
  for i, who in ipairs(lobby:list()) do names[i] = who.meta.name end
  table.sort(names)
  return { you = client.id, names = names, visits = troupe.store.increment("visits", is_new and 1 or 0) }
end

function app.rpc.say(client, text)
  return lobby:notify("said", { id = client.id, text = text })
end

return app
