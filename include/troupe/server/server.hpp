// SPDX-License-Identifier: Apache-2.0
#pragma once

// All of troupe::server.

#include <troupe/server/application_server.hpp>
#include <troupe/server/configuration.hpp>
#include <troupe/server/control.hpp>
