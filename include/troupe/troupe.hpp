// SPDX-License-Identifier: Apache-2.0
#pragma once

// Includes every header that a program built from actors needs.

#include <troupe/actor/actor.hpp>
#include <troupe/actor/all.hpp>
#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/ask_result.hpp>
#include <troupe/actor/blocking.hpp>
#include <troupe/actor/budget.hpp>
#include <troupe/actor/channel.hpp>
#include <troupe/actor/dispatcher.hpp>
#include <troupe/actor/end_of.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/function_actor.hpp>
#include <troupe/actor/monitor.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/placement.hpp>
#include <troupe/actor/pump.hpp>
#include <troupe/actor/pump_fd.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/references.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/actor/select.hpp>
#include <troupe/actor/select_when_ready.hpp>
#include <troupe/actor/sending.hpp>
#include <troupe/actor/serial_group.hpp>
#include <troupe/actor/settings.hpp>
#include <troupe/actor/shutdown_report.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/state_diagram.hpp>
#include <troupe/actor/state_machine.hpp>
#include <troupe/actor/statistics.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/actor/timer.hpp>
