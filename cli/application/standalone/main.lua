-- An application without clients, which does something at intervals.
local app = {}

local ticks = 0

function app.run()
  troupe.log.info(troupe.config.greeting)
  troupe.every(troupe.config.seconds, function()
    ticks = ticks + 1
    troupe.log.info("tick " .. ticks)
  end)
  while true do
    troupe.sleep(60)
    troupe.log.info("another minute, " .. ticks .. " ticks so far")
  end
end

return app
