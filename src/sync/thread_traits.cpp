// SPDX-License-Identifier: Apache-2.0
#include <troupe/sync/thread_traits.hpp>

#include <algorithm>
#include <bit>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <troupe/sync/thread.hpp>

#include "cpu_quota.hpp"
#endif

namespace troupe {
inline namespace native {

namespace {

constexpr int least_niceness = -20;
constexpr int most_niceness = 19;

[[noreturn]] void refuse(std::string_view whose, const std::string& why) {
  throw std::invalid_argument("troupe: " + std::string(whose) + " " + why);
}

void check_values(const std::vector<unsigned>& cpus, int niceness, std::string_view whose) {
  for (auto each = cpus.begin(); each != cpus.end(); ++each) {
    if (std::find(cpus.begin(), each, *each) != each)
      refuse(whose, "names CPU " + std::to_string(*each) + " twice: name it once");
  }
  if (niceness < least_niceness || niceness > most_niceness) {
    refuse(whose, "has the niceness " + std::to_string(niceness) + ", which is out of range (" +
                      std::to_string(least_niceness) + " to " + std::to_string(most_niceness) +
                      ")");
  }
}

}  // namespace

#if defined(__linux__)

namespace {

/// A set of CPUs, with room for the largest number that Linux can be built for.
class cpu_mask {
 public:
  static constexpr unsigned most = 8192;

  void add(unsigned cpu) noexcept {
    if (cpu < most) bits_[cpu / word] |= 1UL << (cpu % word);
  }
  void add_all() noexcept { bits_.fill(~0UL); }
  [[nodiscard]] bool has(unsigned cpu) const noexcept {
    return cpu < most && (bits_[cpu / word] >> (cpu % word) & 1) != 0;
  }
  [[nodiscard]] unsigned count() const noexcept {
    int all = 0;
    for (const unsigned long each : bits_) all += std::popcount(each);
    return static_cast<unsigned>(all);
  }

  /// Pins the calling thread to the set. Returns false and sets errno on failure.
  bool apply_here() const noexcept {
    return ::sched_setaffinity(0, sizeof bits_, reinterpret_cast<const cpu_set_t*>(bits_.data())) ==
           0;
  }
  void read_here() noexcept {
    bits_.fill(0);
    (void)::sched_getaffinity(0, sizeof bits_, reinterpret_cast<cpu_set_t*>(bits_.data()));
  }

 private:
  static constexpr unsigned word = 8 * sizeof(unsigned long);
  std::array<unsigned long, most / word> bits_{};
};

cpu_mask mask_of(const std::vector<unsigned>& cpus) noexcept {
  cpu_mask all;
  for (const unsigned each : cpus) all.add(each);
  return all;
}

// Formats the set, for example «0-3, 6».
std::string to_text(const cpu_mask& those) {
  std::string text;
  for (unsigned first = 0; first < cpu_mask::most; ++first) {
    if (!those.has(first)) continue;
    unsigned last = first;
    while (those.has(last + 1)) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
    first = last;
  }
  return text;
}

// Tries the CPUs on a temporary thread. Returns the error text, or an empty string.
std::string try_cpus(const std::vector<unsigned>& cpus) {
  cpu_mask allowed;
  allowed.add_all();
  (void)allowed.apply_here();  // the system removes CPUs that it does not allow
  allowed.read_here();
  for (const unsigned each : cpus) {
    if (allowed.has(each)) continue;
    return "is to run on CPU " + std::to_string(each) +
           ", which this process cannot use; it can use " + to_text(allowed);
  }
  if (mask_of(cpus).apply_here()) return {};
  return std::string("cannot be pinned to CPUs here: ") + std::strerror(errno);
}

// Tries the niceness on a temporary thread. Returns the error text, or an empty string.
std::string try_niceness(int absolute, int asked) {
  if (::setpriority(PRIO_PROCESS, 0, absolute) == 0) return {};
  return "has the niceness " + std::to_string(asked) +
         ", which this process is not permitted to set: it needs CAP_SYS_NICE or a higher limit "
         "(ulimit -e)";
}

// The niceness of the calling thread.
int niceness_here() noexcept { return ::getpriority(PRIO_PROCESS, 0); }

}  // namespace

thread_traits::thread_traits(std::vector<unsigned> cpus, int niceness, std::string_view whose)
    : cpus_(std::move(cpus)) {
  check_values(cpus_, niceness, whose);
  if (niceness != 0) {
    niceness_ = std::clamp(niceness_here() + niceness, least_niceness, most_niceness);
  }
  if (cpus_.empty() && niceness == 0) return;
  std::string wrong;
  start_thread("troupe/check", [&] {
    if (!cpus_.empty()) wrong = try_cpus(cpus_);
    if (wrong.empty() && niceness_) wrong = try_niceness(*niceness_, niceness);
  }).join();
  if (!wrong.empty()) refuse(whose, wrong);
}

void thread_traits::apply_here() const noexcept {
  if (!cpus_.empty()) (void)mask_of(cpus_).apply_here();
  if (niceness_) (void)::setpriority(PRIO_PROCESS, 0, *niceness_);
}

void thread_traits::pin_here(std::size_t which) const noexcept {
  cpu_mask one;
  one.add(cpus_[which]);
  (void)one.apply_here();
}

unsigned usable_cpus() noexcept {
  cpu_mask allowed;
  allowed.read_here();
  unsigned quota = cpu_mask::most;
  try {
    quota = cpu_quota(cpu_quota_root).value_or(quota);
  } catch (const std::bad_alloc&) {  // as if no quota were set
  }
  return std::max(1U, std::min(allowed.count(), quota));
}

#else

unsigned usable_cpus() noexcept { return std::max(1U, std::thread::hardware_concurrency()); }

thread_traits::thread_traits(std::vector<unsigned> cpus, int niceness, std::string_view whose) {
  check_values(cpus, niceness, whose);
  if (!cpus.empty())
    refuse(whose, "cannot be pinned to CPUs on this operating system: remove the list of CPUs");
  if (niceness != 0) refuse(whose, "cannot have a niceness on this operating system: set it to 0");
}

void thread_traits::apply_here() const noexcept {}
void thread_traits::pin_here(std::size_t) const noexcept {}

#endif

}  // namespace native
}  // namespace troupe
