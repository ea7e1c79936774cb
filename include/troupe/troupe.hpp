// SPDX-License-Identifier: Apache-2.0
#pragma once

// Includes all public headers of the core: actors, channels, state machines, supervision, names,
// routers and topics. A program that includes it compiles about 0.5 s longer than one that includes
// <troupe/actor/system.hpp> and <troupe/actor/actor.hpp> alone. Not included, because few files
// need them: simulation (<troupe/sim/…>) and the libraries built on the core, such as
// <troupe/testkit/…>, <troupe/net/…>, <troupe/http/http.hpp>, <troupe/lua/lua.hpp> and
// <troupe/server/server.hpp>.

#include <troupe/actor/actor.hpp>
#include <troupe/actor/all.hpp>
#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/ask_result.hpp>
#include <troupe/actor/blocking.hpp>
#include <troupe/actor/blocking_pool.hpp>
#include <troupe/actor/budget.hpp>
#include <troupe/actor/callback.hpp>
#include <troupe/actor/dispatcher.hpp>
#include <troupe/actor/end_of.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/function_actor.hpp>
#include <troupe/actor/monitor.hpp>
#include <troupe/actor/observer.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/overflow_policy.hpp>
#include <troupe/actor/placement.hpp>
#include <troupe/actor/pump.hpp>
#include <troupe/actor/pump_fd.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/references.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/actor/request.hpp>
#include <troupe/actor/sending.hpp>
#include <troupe/actor/serial_group.hpp>
#include <troupe/actor/settings.hpp>
#include <troupe/actor/shutdown_report.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/statistics.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/system_options.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/actor/timeline_options.hpp>
#include <troupe/actor/timer.hpp>
#include <troupe/actor/trace.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/channel/channel.hpp>
#include <troupe/channel/channel_value.hpp>
#include <troupe/channel/select.hpp>
#include <troupe/channel/select_when_ready.hpp>
#include <troupe/machine/state_checks.hpp>
#include <troupe/machine/state_diagram.hpp>
#include <troupe/machine/state_machine.hpp>
#include <troupe/machine/statechart.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>
#include <troupe/message/limits.hpp>
#include <troupe/message/message_or_request.hpp>
#include <troupe/message/owned_bytes.hpp>
#include <troupe/message/priority.hpp>
#include <troupe/message/type_name.hpp>
#include <troupe/supervision/child.hpp>
#include <troupe/supervision/dynamic_supervisor.hpp>
#include <troupe/supervision/found.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/router.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/supervision/topic.hpp>
