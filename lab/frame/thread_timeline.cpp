// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/thread_timeline.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>

namespace troupe::lab {

namespace {

const char* file_name() {
  const char* const named = std::getenv("TROUPE_TRACE");
  return named == nullptr ? "" : named;
}

double microseconds(thread_timeline::clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

thread_timeline::thread_timeline(std::size_t lanes) {
  if (*file_name() != '\0') lanes_.resize(lanes);
}

thread_timeline::~thread_timeline() {
  if (lanes_.empty()) return;
  try {
    write(file_name());
  } catch (const std::exception& why) {
    std::cerr << "the trace is incomplete: " << why.what() << '\n';
  }
}

void thread_timeline::add(std::size_t lane, const slice& one) {
  constexpr std::chrono::microseconds apart{20};
  std::vector<slice>& all = lanes_[lane];
  if (!all.empty() && all.back().name == one.name && one.begin - all.back().end <= apart) {
    all.back().end = one.end;
  } else {
    all.push_back(one);
  }
}

void thread_timeline::write(const std::string& file) const {
  std::ofstream out(file);
  out.exceptions(std::ios::failbit | std::ios::badbit);
  out.precision(3);
  out << std::fixed
      << "[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"threads\"}}";
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const std::size_t number = lane + 1;
    out << ",\n{\"pid\":1,\"ph\":\"M\",\"tid\":" << number
        << R"(,"name":"thread_name","args":{"name":"thread )" << number << "\"}}";
    for (const slice& each : lanes_[lane]) {
      out << ",\n{\"pid\":1,\"ph\":\"X\",\"tid\":" << number
          << ",\"ts\":" << microseconds(each.begin - zero_)
          << ",\"dur\":" << microseconds(each.end - each.begin) << ",\"cat\":\""
          << (each.waits ? "parked" : "running") << "\",\"name\":\"" << each.name
          << "\",\"args\":{\"worker\":" << number << "}}";
    }
  }
  out << "\n]\n";
  out.flush();
}

}  // namespace troupe::lab
