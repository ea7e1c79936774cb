// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "memory.hpp"

// The functions that the checked atomics, threads and similar types call. They act on the active
// execution. Without one, an operation acts on the object alone.

namespace troupe::model::detail {

/// Returns true on a fibre of an execution.
[[nodiscard]] bool running() noexcept;

// ── Atomics ───────────────────────────────────────────────────────────────────────────────────

enum class change : std::uint8_t { exchange, add, subtract, bit_and, bit_or, bit_xor };

/// The location of an atomic's value, which is the newest in modification order.
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

/// Returns true if the deadline passed; never if there is no deadline.
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

/// The calling thread's own object under this key, created by the first call.
void* own(const void* key, void* (*make)(), void (*destroy)(void*));

/// The execution's own object under this key, created by the first call.
void* shared(const void* key, void* (*make)(), void (*destroy)(void*));

// ── Plain memory ──────────────────────────────────────────────────────────────────────────────

void plain_born(const void* at, source_line where) noexcept;
void plain_read(const void* at, source_line where) noexcept;
void plain_write(const void* at, source_line where) noexcept;
// The same for an access without a source location: its location is the return address of the call.
void plain_read_here(const void* at) noexcept;
void plain_write_here(const void* at) noexcept;

/// The memory there must no longer be used, although it stays allocated.
void given_back(const void* begin, std::size_t bytes) noexcept;

// ── Verdicts ──────────────────────────────────────────────────────────────────────────────────

/// Ends the execution or, outside of one, the process.
[[noreturn]] void fail(std::string what, source_line where);

/// Fails the execution at its end, after all fibres have completed.
void leaked(std::string what) noexcept;

/// While an object of this class exists, memory is watched neither for leaks nor for use after
/// free.
class untracked {
 public:
  untracked() noexcept;
  untracked(const untracked&) = delete;
  untracked& operator=(const untracked&) = delete;
  ~untracked();
};

}  // namespace troupe::model::detail
