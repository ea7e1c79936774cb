// SPDX-License-Identifier: Apache-2.0
// Selects the active mutation, in the copy of the source tree that run.py makes.
#pragma once

// Planted code is on one line.
#pragma GCC diagnostic ignored "-Wdangling-else"
#pragma GCC diagnostic ignored "-Wempty-body"
#pragma GCC diagnostic ignored "-Wmisleading-indentation"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-variable"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace troupe::mutants {

// FNV-1a, so that an identifier does not depend on the other entries of the list.
constexpr std::uint64_t id_of(const char* name) noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325ULL;
  for (; *name != 0; ++name) {
    hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100'0000'01b3ULL;
  }
  return hash;
}

struct settings {
  std::uint64_t active = 0;  // TROUPE_MUTANT: the name of the mutation
  const char* sites =
      nullptr;  // TROUPE_MUTANT_SITES: the file to which the names of reached places are appended
};

inline const settings& here() noexcept {
  static const settings all = [] {
    settings read;
    if (const char* const name = std::getenv("TROUPE_MUTANT")) read.active = id_of(name);
    read.sites = std::getenv("TROUPE_MUTANT_SITES");
    return read;
  }();
  return all;
}

// Writes each name once per process.
[[gnu::cold, gnu::noinline]] inline void note(std::uint64_t id, const char* name) noexcept {
  constexpr std::size_t size = 4096;
  static std::atomic<std::uint64_t> seen[size];
  for (std::size_t at = id % size;; at = (at + 1) % size) {
    std::uint64_t found = seen[at].load(std::memory_order_relaxed);
    if (found == id) return;
    if (found != 0) continue;
    if (seen[at].compare_exchange_strong(found, id)) break;
    if (found == id) return;
  }
  char line[128];
  const std::size_t length = std::strlen(name);
  if (length + 1 > sizeof line) return;
  std::memcpy(line, name, length);
  line[length] = '\n';
  const int to = ::open(here().sites, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (to < 0) return;
  (void)!::write(to, line, length + 1);
  ::close(to);
}

constexpr bool is_active(std::uint64_t id, const char* name) noexcept {
  if (std::is_constant_evaluated()) return false;
  const settings& all = here();
  if (all.sites != nullptr) [[unlikely]]
    note(id, name);
  return all.active == id;
}

}  // namespace troupe::mutants

#define TROUPE_MUTANT(name)      \
  (::troupe::mutants::is_active( \
      ::std::integral_constant<::std::uint64_t, ::troupe::mutants::id_of(name)>::value, name))
