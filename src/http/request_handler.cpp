// SPDX-License-Identifier: Apache-2.0

#include "request_handler.hpp"

#include <exception>
#include <string>
#include <utility>

#include "respond.hpp"
#include "server_context.hpp"

namespace troupe::http::detail {

void request_handler::count(int change) const noexcept {
  of_->handlers_alive.fetch_add(static_cast<std::size_t>(change), relaxed);  // [handlers]
}

task<> request_handler::on(begin) {
  handled result{.number = number_, .with = {}};
  std::string path;
  try {
    path = asked_.path();
    result.with = co_await how_.start(std::move(asked_));
  } catch (...) {
    auto [with, failed] = result_of_exception(path, std::current_exception());
    result.with = std::move(with);
    result.failed = failed;
  }
  to_.send(std::move(result));
  self(this).stop_now();
}

}  // namespace troupe::http::detail
