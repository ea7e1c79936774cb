// SPDX-License-Identifier: Apache-2.0

#include "request_handler.hpp"

#include <exception>
#include <string>
#include <utility>

#include "respond.hpp"

namespace troupe::http::detail {

task<> request_handler::on(begin) {
  handled result{.number = number_, .with = {}};
  const std::string path{asked_.path()};
  try {
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
