// SPDX-License-Identifier: Apache-2.0
// The functions that the checked types call, and the replacements of operator new and delete.
#include "engine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <troupe/base/assert.hpp>
#include <utility>

#include "cell.hpp"
#include "execution.hpp"

namespace troupe::model::detail {
namespace {

struct inside_scope {
  inside_scope() noexcept { ++execution::inside; }
  inside_scope(const inside_scope&) = delete;
  inside_scope& operator=(const inside_scope&) = delete;
  ~inside_scope() { --execution::inside; }
};

// Calls `within` for the active execution or, without one, `outside`.
template <class Within, class Outside>
auto on_execution(Within&& within, Outside&& outside) {
  if (!running()) return outside();
  const inside_scope scope;
  return within(*execution::active);
}
template <class Within>
void on_execution(Within&& within) {
  on_execution(within, [] {});
}

// The object under this key: of a thread, of the execution or, outside of one, of the process.
template <class Objects, class Make>
void* find_or_make(const Objects& in, const void* key, Make&& make) {
  const auto found =
      std::find_if(in.begin(), in.end(), [&](const auto& each) { return each.key == key; });
  return found != in.end() ? found->object : make();
}

void* outside_of_executions(const void* key, void* (*make)()) {
  static boost::unordered_flat_map<const void*, void*> all;
  void*& there = all[key];
  if (there == nullptr) there = make();
  return there;
}

}  // namespace

bool running() noexcept { return execution::active != nullptr; }

// ── Atomics ───────────────────────────────────────────────────────────────────────────────────

void born(cell of, source_line where) noexcept {
  on_execution([&](execution& e) { e.make_location(of, where); });
}

bits load(cell of, std::memory_order order, source_line where) noexcept {
  return on_execution([&](execution& e) { return e.load(of, order, where); },
                      [&] { return raw_value(of); });
}

void store(cell of, bits value, std::memory_order order, source_line where) noexcept {
  on_execution([&](execution& e) { e.write(of, value, order, where); },
               [&] { set_raw_value(of, value); });
}

bits read_modify_write(cell of, change how, bits operand, std::memory_order order,
                       source_line where) noexcept {
  return on_execution([&](execution& e) { return e.change(of, how, operand, order, where); },
                      [&] {
                        const bits before = raw_value(of);
                        set_raw_value(of, changed(how, before, operand, of.bytes));
                        return before;
                      });
}

bool compare_exchange(cell of, bits& expected, bits desired, std::memory_order success,
                      std::memory_order failing, bool weak, source_line where) noexcept {
  return on_execution(
      [&](execution& e) {
        return e.compare_exchange(of, expected, desired, success, failing, weak, where);
      },
      [&] {
        const bits before = raw_value(of);
        if (before != expected) {
          expected = before;
          return false;
        }
        set_raw_value(of, desired);
        return true;
      });
}

void name(const void* of, std::string_view called) {
  on_execution([&](execution& e) { e.names_[of] = called; });
}

// ── Waiting ───────────────────────────────────────────────────────────────────────────────────

bool futex_wait(cell of, bits expected, bool has_deadline, source_line where) noexcept {
  return on_execution([&](execution& e) { return e.futex_wait(of, expected, has_deadline, where); },
                      [] { return true; });
}

void futex_wake(const void* of, std::uint32_t count, source_line where) noexcept {
  on_execution([&](execution& e) { e.futex_wake(of, count, where); });
}

void yield(source_line where) noexcept {
  on_execution([&](execution& e) { e.yield(where); });
}

void mutex_born(const void* mutex) noexcept {
  on_execution([&](execution& e) { e.mutex_born(mutex); });
}

void mutex_ends(const void* mutex) noexcept {
  on_execution([&](execution& e) { e.mutex_ends(mutex); });
}

void lock(const void* mutex, source_line where) noexcept {
  on_execution([&](execution& e) { e.lock(mutex, where); });
}

bool try_lock(const void* mutex, source_line where) noexcept {
  return on_execution([&](execution& e) { return e.try_lock(mutex, where); }, [] { return true; });
}

void unlock(const void* mutex, source_line where) noexcept {
  on_execution([&](execution& e) { e.unlock(mutex, where); });
}

// ── Threads ───────────────────────────────────────────────────────────────────────────────────

thread_index start(std::function<void()> body, std::string name, source_line where) {
  if (!running()) fail("a checked thread is started outside of an execution", where);
  const inside_scope scope;
  return execution::active->begin(std::move(body), std::move(name), where);
}

void join(thread_index thread, source_line where) noexcept {
  on_execution([&](execution& e) { e.join(thread, where); });
}

thread_index this_thread() noexcept {
  return running() ? execution::active->current_ : thread_index{0};
}

void name_this_thread(std::string_view called) noexcept {
  on_execution([&](execution& e) { e.me().name = called; });
}

void* own(const void* key, void* (*make)(), void (*destroy)(void*)) {
  return on_execution(
      [&](execution& e) {
        return find_or_make(e.me().own, key, [&] {
          void* const fresh = make();
          e.me().own.push_back({key, fresh, destroy});
          return fresh;
        });
      },
      [&] { return outside_of_executions(key, make); });
}

void* shared(const void* key, void* (*make)(), void (*destroy)(void*)) {
  return on_execution(
      [&](execution& e) {
        return find_or_make(e.shared_, key, [&] { return e.make_shared(key, make, destroy); });
      },
      [&] { return outside_of_executions(key, make); });
}

// ── Memory ────────────────────────────────────────────────────────────────────────────────────

void plain_born(const void* at, source_line where) noexcept {
  on_execution([&](execution& e) { e.plain_born(at, where); });
}

void plain_read(const void* at, source_line where) noexcept {
  on_execution([&](execution& e) { e.plain_read(at, where); });
}

void plain_write(const void* at, source_line where) noexcept {
  on_execution([&](execution& e) { e.plain_write(at, where); });
}

void plain_read_here(const void* at) noexcept {
  plain_read(at, source_line::returning_to(__builtin_return_address(0)));
}

void plain_write_here(const void* at) noexcept {
  plain_write(at, source_line::returning_to(__builtin_return_address(0)));
}

void given_back(const void* begin, std::size_t bytes) noexcept {
  on_execution([&](execution& e) { e.forget(begin, bytes, e.tick(e.me().where)); });
}

void leaked(std::string what) noexcept {
  on_execution([&](execution& e) { e.leaked(std::move(what)); });
}

untracked::untracked() noexcept {
  on_execution([](execution& e) { ++e.me().untracked; });
}
untracked::~untracked() {
  on_execution([](execution& e) { --e.me().untracked; });
}

void fail(std::string what, source_line where) {
  if (!running()) {
    std::fprintf(stderr, "%s: %s\n", to_string(where).c_str(), what.c_str());
    std::abort();
  }
  const inside_scope scope;
  execution::active->fail(what, where);
}

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
  bytes = std::max<std::size_t>(bytes, 1);
  void* const at =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (at == nullptr) throw std::bad_alloc();
  if (running() && execution::inside == 0 && execution::active->me().untracked == 0) {
    const inside_scope scope;
    execution::active->allocated(at, bytes);
  }
  return at;
}

void deallocate(void* at) noexcept {
  if (at == nullptr) return;
  if (running()) {
    const inside_scope scope;
    // Its memory stays until the execution is over.
    if (execution::active->released(at)) return;
  }
  std::free(at);
}

}  // namespace
}  // namespace troupe::model::detail

// Replaces src/base/assert.cpp: a broken contract is a failure like any other.
void troupe::detail::contract_broken(const char* file, int line, const char* condition,
                                     const char* text) noexcept {
  model::source_line where;
  where.file = file;
  where.line = static_cast<std::uint32_t>(line);
  model::detail::fail(std::string(text) + " (" + condition + ")", where);
}

// Every block that checked code allocates is watched.
using troupe::model::detail::allocate;
using troupe::model::detail::deallocate;

void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { deallocate(at); }
void operator delete[](void* at) noexcept { deallocate(at); }
void operator delete(void* at, std::size_t) noexcept { deallocate(at); }
void operator delete[](void* at, std::size_t) noexcept { deallocate(at); }
void operator delete(void* at, std::align_val_t) noexcept { deallocate(at); }
void operator delete[](void* at, std::align_val_t) noexcept { deallocate(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { deallocate(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { deallocate(at); }
