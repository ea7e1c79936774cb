// SPDX-License-Identifier: Apache-2.0

// The cost of finding the route of a path, and of reading a parameter: with the three routes of one
// service, and with 10,000 routes. The measured requests are the same in both cases.
//
//   literal    /service5000/status
//   parameter  /service5000/accounts/{id}/entries/{entry}
//   rest       /service5000/files/{rest...}
//   escaped    the second one, with an escape in each parameter
//   missing    a path without a route
//
//   router_bench [--smoke] [--routes N] [--rounds N]
//
// Prints a line for each: its name, and nanoseconds with three routes and with N (10,000). With
// --rounds, it makes that many searches in a table with N routes, and prints nothing. Under
// `valgrind --tool=callgrind`, two such runs differ by the instructions of the searches alone.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/request.hpp>
#include <troupe/http/response.hpp>

#include "request_access.hpp"
#include "router.hpp"

namespace {

using troupe::http::request;
using troupe::http::response;
using troupe::http::detail::request_access;
using troupe::http::detail::router;

response hello(const request&) { return response::text("hello"); }

// The routes of that many services, among them service5000.
std::unique_ptr<router> table(int services) {
  auto made = std::make_unique<router>();
  const int first = 5'000 - services / 2;
  for (int i = first; i < first + services; ++i) {
    const std::string service = "/service" + std::to_string(i);
    made->add("GET", service + "/status", hello);
    made->add("GET", service + "/accounts/{id}/entries/{entry}", hello);
    made->add("GET", service + "/files/{rest...}", hello);
  }
  return made;
}

struct example {
  const char* name;
  const char* target;
  const char* parameter;  // to be read; null for none
};
constexpr example examples[] = {
    {"literal", "/service5000/status", nullptr},
    {"parameter", "/service5000/accounts/1234/entries/5678", "entry"},
    {"rest", "/service5000/files/a/b/c.txt", "rest"},
    {"escaped", "/service5000/accounts/12%2F34/entries/56%2F78", "entry"},
    {"missing", "/service5000/accounts/1234/cards/5678", nullptr},
};

// Makes that many searches; the sum keeps the compiler from leaving them out.
std::size_t search(const router& in, request& asked, const char* parameter, long rounds) {
  std::size_t sum = 0;
  for (long i = 0; i < rounds; ++i) {
    const router::match found = in.find(asked.path(), request_access::sent_path(asked));
    if (found.at == nullptr) continue;
    request_access::set_pattern(asked, found.at->parameters);
    sum += 1 + (parameter == nullptr ? 0 : asked.path(parameter).size());
  }
  return sum;
}

double nanoseconds(const router& in, const example& one, long rounds) {
  request asked = request_access::make("GET", one.target, {}, "peer", false);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t sum = search(in, asked, one.parameter, rounds);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    if (sum == 0 && std::string_view{one.name} != "missing") std::abort();
    best = std::min(best, took.count() / static_cast<double>(rounds));
  }
  return best;
}

}  // namespace

int main(int count, char** arguments) {
  bool smoke = false;
  int routes = 10'000;
  long rounds = 0;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    smoke = smoke || option == "--smoke";
    if (option == "--routes" && i + 1 < count) routes = std::atoi(arguments[++i]);
    if (option == "--rounds" && i + 1 < count) rounds = std::atol(arguments[++i]);
  }
  const int services = std::max(1, (smoke ? 100 : routes) / 3);
  const auto many = table(services);
  if (rounds > 0) {
    std::size_t sum = 0;
    for (const example& one : examples) {
      request asked = request_access::make("GET", one.target, {}, "peer", false);
      sum += search(*many, asked, one.parameter, rounds);
    }
    return sum == 0 ? 1 : 0;
  }
  const auto single = table(1);
  const long times = smoke ? 1'000 : 2'000'000;
  for (const example& one : examples) {
    const double few = nanoseconds(*single, one, times);
    std::printf("%-10s %8.1f ns %8.1f ns\n", one.name, few, nanoseconds(*many, one, times));
  }
}
