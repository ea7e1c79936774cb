-- A live poll: a client that votes sees at once the votes of all connected clients. Clients use the
-- rpc protocol (docs/protocol.md).
local app, room = { rpc = {} }, troupe.room("poll")
local question = troupe.config.question or "Tea or coffee?"
local choices = troupe.config.choices or troupe.array({ "tea", "coffee" })
local function result()
  local counts = {}
  for _, choice in ipairs(choices) do counts[choice] = 0 end
  for _, client in ipairs(room:members()) do
    local choice = client.data.choice -- it survives an upgrade to another version
    if counts[choice] then counts[choice] = counts[choice] + 1 end
  end
  return { question = question, counts = counts, watching = room:count() }
end
function app.on_open(client)
  room:join(client)
  room:notify("changed", result())
end
function app.rpc.vote(client, choice)
  if result().counts[choice] == nil then
    error({ code = 1, message = "choose one of: " .. table.concat(choices, ", ") })
  end
  client.data.choice = choice
  room:notify("changed", result(), client)
  return result()
end
function app.on_close(client)
  room:leave(client)
  room:notify("changed", result())
end
return app
