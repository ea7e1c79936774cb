-- Sends every message back. Try it: troupe serve examples/lua/echo
local app = {}

function app.on_message(client, data, binary)
  if binary then
    client:send_binary(data)
  else
    client:send(data)
  end
end

return app
