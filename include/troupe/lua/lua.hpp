// SPDX-License-Identifier: Apache-2.0
#pragma once

// All of troupe::lua.

#include <troupe/lua/application.hpp>
#include <troupe/lua/call.hpp>
#include <troupe/lua/engine.hpp>
#include <troupe/lua/limits.hpp>
#include <troupe/lua/log.hpp>
#include <troupe/lua/shared.hpp>
