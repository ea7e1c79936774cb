// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "memory.hpp"

// What the checked atomics, threads and the like call. Everything here belongs to the execution
// that runs at the moment; outside of one, operations act on the object alone.

namespace troupe::model::detail {

/// True on a fibre of an execution.
[[nodiscard]] bool running() noexcept;

// ── Atomics ───────────────────────────────────────────────────────────────────────────────────

enum class change : std::uint8_t { exchange, add, subtract, bit_and, bit_or, bit_xor };

/// Where an atomic's value lies; it holds the newest in modification order.
struct cell {
  void* at;
  std::size_t bytes;
};

void born(cell of, source_line where) noexcept;
bits load(cell of, std::memory_order order, source_line where) noexcept;
void store(cell of, bits value, std::memory_order order, source_line where) noexcept;
bits read_modify_write(cell of, change how, bits operand, std::memory_order order,
                       source_line where) noexcept;
bool compare_exchange(cell of, bits& expected, bits desired, std::memory_order success,
                      std::memory_order failure, bool weak, source_line where) noexcept;
void name(const void* of, std::string_view called);

// ── Waiting ───────────────────────────────────────────────────────────────────────────────────

/// Returns true if the deadline passed; never if there is none.
bool futex_wait(cell of, bits expected, bool has_deadline, source_line where) noexcept;
void futex_wake(const void* of, std::uint32_t count, source_line where) noexcept;
void yield(source_line where) noexcept;

void mutex_born(const void* mutex) noexcept;
void mutex_ends(const void* mutex) noexcept;
void lock(const void* mutex, source_line where) noexcept;
bool try_lock(const void* mutex, source_line where) noexcept;
void unlock(const void* mutex, source_line where) noexcept;

// ── Threads ───────────────────────────────────────────────────────────────────────────────────

thread_index start(std::function<void()> body, std::string name, source_line where);
void join(thread_index thread, source_line where) noexcept;
[[nodiscard]] thread_index this_thread() noexcept;
void name_this_thread(std::string_view name) noexcept;

/// The calling thread's own object under this key, made at the first call.
void* own(const void* key, void* (*make)(), void (*destroy)(void*));

/// The execution's own object under this key, made at the first call.
void* shared(const void* key, void* (*make)(), void (*destroy)(void*));

// ── Plain memory ──────────────────────────────────────────────────────────────────────────────

void plain_born(const void* at, source_line where) noexcept;
void plain_read(const void* at, source_line where) noexcept;
void plain_write(const void* at, source_line where) noexcept;
// The same for an access that cannot say where it stands: it stands where these return to.
void plain_read_here(const void* at) noexcept;
void plain_write_here(const void* at) noexcept;

/// What lies there is not to be used any more, though the memory stays.
void given_back(const void* begin, std::size_t bytes) noexcept;

// ── Verdicts ──────────────────────────────────────────────────────────────────────────────────

/// Ends the execution, or, outside of one, the process.
[[noreturn]] void fail(std::string what, source_line where);

/// Fails the execution at its end, when there is no fibre any more.
void leaked(std::string what) noexcept;

/// While it lives, memory is not watched for leaks and for use after its end.
class untracked {
 public:
  untracked() noexcept;
  untracked(const untracked&) = delete;
  untracked& operator=(const untracked&) = delete;
  ~untracked();
};

}  // namespace troupe::model::detail
