// SPDX-License-Identifier: Apache-2.0

// The file that `troupe lab pipeline --requests` reads.

#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>

#include "fuzz.hpp"
#include "lab/pipeline/requests.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::lab::pipeline;

/// A file in memory that has a name.
class memory_file {
 public:
  memory_file() : fd_(::memfd_create("requests", MFD_CLOEXEC)) {
    require(fd_ >= 0, "there is memory for a file");
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(fd_); }

  void hold(std::string_view text) {
    require(::ftruncate(fd_, 0) == 0 &&
                ::pwrite(fd_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
            "the file can be written");
  }
  [[nodiscard]] std::string name() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

bool is_same(const request& one, const request& other) {
  return one.number == other.number && one.rounds == other.rounds && one.yields == other.yields &&
         one.sleep == other.sleep;
}

void check(const requests& all, std::string_view text) {
  require(!all.empty(), "a file has a request");
  require(all.size() <= 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
          "there are no more requests than lines");
  for (std::size_t i = 0; i < all.size(); ++i) {
    require(all[i].number == i + 1, "requests are numbered from 1");
    require(all[i].rounds > 0 && all[i].rounds <= 1'000'000'000, "a request computes something");
    require(all[i].yields == 0 || all[i].sleep.count() == 0, "a request is of one kind");
    require(all[i].yields <= 1'000'000 && all[i].sleep <= std::chrono::minutes(1),
            "a request is within the limits");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static memory_file file;
  static const std::string name = file.name();
  const std::string_view text = text_of(data, size);
  file.hold(text);
  std::optional<requests> all;
  try {
    all = read_requests(name);
  } catch (const std::runtime_error& why) {
    const std::string_view said = why.what();
    require(said.starts_with(name + ":"), "an error names the file");
    const std::string_view line = said.substr(name.size() + 1);
    const std::size_t digits = line.find_first_not_of("0123456789");
    require(digits != 0 && digits != std::string_view::npos && line.substr(digits, 2) == ": " &&
                line.size() > digits + 2,
            "an error says in which line, and what");
  }
  if (!all) return 0;
  check(*all, text);
  write_requests(name, *all);
  const requests again = read_requests(name);
  require(std::equal(again.begin(), again.end(), all->begin(), all->end(), is_same),
          "what is written is read again");
  return 0;
}
