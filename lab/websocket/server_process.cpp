// SPDX-License-Identifier: Apache-2.0
#include "lab/websocket/server_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "lab/lightness/processes.hpp"

namespace troupe::lab {

namespace {

constexpr std::chrono::seconds patience{20};

class two_ends {
 public:
  two_ends() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) refuse(errno, "cannot create a pipe");
  }
  two_ends(const two_ends&) = delete;
  two_ends& operator=(const two_ends&) = delete;
  ~two_ends() {
    ::close(ends_[0]);
    close_writing();
  }
  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

 private:
  std::array<int, 2> ends_;
};

}  // namespace

two_processors choose_processors() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0)
    refuse(errno, "the available CPUs cannot be determined");
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < CPU_SETSIZE && found.size() < 2; ++i) {
    if (CPU_ISSET(i, &mine)) found.push_back(i);
  }
  return {found.front(), found.back()};
}

void stay_on(std::size_t processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) refuse(errno, "cannot pin a process to a CPU");
}

void announcement::listens_at(std::uint16_t port) const { ::dprintf(to_, "port %u\n", port); }

template <class Body>
void server_process::start(std::size_t processor, Body body) {
  two_ends line;
  const pid_t parent = ::getpid();
  process_ = make_process([&] {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) return;
    stay_on(processor);
    try {
      body(line.writing());
    } catch (const std::exception& why) {
      ::dprintf(line.writing(), "%s\n", why.what());
    }
  });
  line.close_writing();
  try {
    await_port(line.reading());
    if (const int error = ::clock_getcpuclockid(process_, &clock_); error != 0) {
      refuse(error, "the CPU time of a server cannot be determined");
    }
  } catch (...) {
    ::kill(process_, SIGKILL);
    end_of_process(process_);
    throw;
  }
}

server_process::server_process(server_body serve, const server_setup& how, std::size_t processor) {
  start(processor, [&](int out) { serve(how, announcement(out)); });
}

server_process::server_process(const std::vector<std::string>& command, std::size_t processor) {
  start(processor, [&](int out) {
    std::vector<char*> arguments;
    for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    ::dup2(out, STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    throw std::runtime_error(command[0] + " cannot be started: " + std::strerror(errno));
  });
}

server_process::~server_process() {
  ::kill(process_, SIGKILL);
  try {
    end_of_process(process_);
  } catch (...) {
    // It is gone anyway.
  }
}

// Any other output is the reason why there is no port.
void server_process::await_port(int from) {
  std::string said;
  const auto until = std::chrono::steady_clock::now() + patience;
  while (said.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd ready{from, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      throw std::runtime_error("a server does not listen within 20 s");
    }
    std::array<char, 512> part;
    const ssize_t n = ::read(from, part.data(), part.size());
    if (n == 0)
      throw std::runtime_error("a server has terminated: " +
                               (said.empty() ? "it printed nothing" : said));
    if (n > 0) said.append(part.data(), static_cast<std::size_t>(n));
  }
  unsigned port = 0;
  if (std::sscanf(said.c_str(), "port %u", &port) != 1 || port == 0 || port > 65'535) {
    throw std::runtime_error("a server cannot serve: " + said.substr(0, said.find('\n')));
  }
  port_ = static_cast<std::uint16_t>(port);
}

double server_process::cpu_s() const {
  timespec now{};
  if (::clock_gettime(clock_, &now) != 0) throw std::runtime_error("the server has terminated");
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double server_process::resident_bytes() const {
  std::ifstream file("/proc/" + std::to_string(process_) + "/statm");
  double size = 0, resident = 0;
  if (!(file >> size >> resident)) throw std::runtime_error("the server has terminated");
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void server_process::settle(std::chrono::milliseconds limit) const {
  constexpr std::chrono::milliseconds a_while{50};
  constexpr double next_to_nothing_s = 1e-3;
  const auto until = std::chrono::steady_clock::now() + limit;
  for (double before = cpu_s(); std::chrono::steady_clock::now() < until;) {
    std::this_thread::sleep_for(a_while);
    const double now = cpu_s();
    if (now - before < next_to_nothing_s) return;
    before = now;
  }
}

}  // namespace troupe::lab
