-- A room in which every client receives all messages.
local app = {}

local everybody = troupe.room("everybody")
local said = 0

function app.on_open(client)
  everybody:join(client)
  client:send(troupe.config.greeting)
end

function app.on_message(client, data, binary)
  if binary then
    client:close(1003, "only text messages are accepted")
    return
  end
  said = said + 1
  everybody:send(said .. ": " .. data)
end

function app.on_close(client, code, reason)
  troupe.log.info("a client left with code " .. code)
end

return app
