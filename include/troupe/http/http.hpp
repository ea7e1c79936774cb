// SPDX-License-Identifier: Apache-2.0
#pragma once

// All of troupe::http.

#include <troupe/http/access.hpp>
#include <troupe/http/client.hpp>
#include <troupe/http/client_options.hpp>
#include <troupe/http/cookie.hpp>
#include <troupe/http/fetch.hpp>
#include <troupe/http/figures.hpp>
#include <troupe/http/handler.hpp>
#include <troupe/http/json.hpp>
#include <troupe/http/limits.hpp>
#include <troupe/http/options.hpp>
#include <troupe/http/parameter.hpp>
#include <troupe/http/problem.hpp>
#include <troupe/http/request.hpp>
#include <troupe/http/response.hpp>
#include <troupe/http/routes.hpp>
#include <troupe/http/server.hpp>
#include <troupe/http/session.hpp>
#include <troupe/http/statistics.hpp>
#include <troupe/http/tls.hpp>
#include <troupe/http/websocket.hpp>
#include <troupe/http/websocket_options.hpp>
