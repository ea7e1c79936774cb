-- Sends each message to all clients: the server of the broadcast of `troupe lab ws`.
local app = {}
local room = troupe.room("hall")
function app.on_open(client)
  room:join(client)
end
function app.on_message(client, data)
  room:send(data)
end
return app
