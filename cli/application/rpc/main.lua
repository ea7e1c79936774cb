-- A calculator that remembers its last result.
local app = { rpc = {} }

local last = 0

function app.rpc.add(client, params)
  if type(params.a) ~= "number" or type(params.b) ~= "number" then
    error("add needs two numbers, a and b")
  end
  last = params.a + params.b
  return last
end

function app.rpc.last(client, params)
  return last
end

function app.on_open(client)
  troupe.log.debug("a client connected")
end

return app
