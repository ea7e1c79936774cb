// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <new>
#include <troupe/base/assert.hpp>
#include <troupe/memory/pages.hpp>
#include <troupe/memory/poison.hpp>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif
#ifdef TROUPE_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace troupe::detail {

void expect_low_addresses(const void* begin, std::size_t bytes) noexcept {
  const auto first = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(begin));
  TROUPE_EXPECTS(((first + bytes) >> address_bits) == 0,
                 "the operating system returned an address of more than 48 bits, which a message "
                 "cannot store");
}

#ifdef __linux__

namespace {

std::uintptr_t rounded_up(std::uintptr_t at, std::size_t align) noexcept {
  return (at + align - 1) / align * align;
}

void* as_pointer(std::uintptr_t at) noexcept { return reinterpret_cast<void*>(at); }

void* map(std::size_t bytes) {
  void* const got =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) throw std::bad_alloc();
  return got;
}

// munmap fails if splitting the mapping would exceed the kernel's limit of mappings. Then the
// address range is lost, but the memory is returned.
void unmap(void* begin, std::size_t bytes) noexcept {
  if (bytes != 0 && ::munmap(begin, bytes) != 0) (void)::madvise(begin, bytes, MADV_DONTNEED);
}

}  // namespace

void* obtain_pages(std::size_t bytes, std::size_t align) {
  // The kernel places mappings next to each other, so a mapping that follows an aligned one is
  // usually aligned as well.
  void* got = map(bytes);
  if (reinterpret_cast<std::uintptr_t>(got) % align != 0) {
    unmap(got, bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(map(bytes + align));
    const std::uintptr_t aligned = rounded_up(begin, align);
    unmap(as_pointer(begin), aligned - begin);
    unmap(as_pointer(aligned + bytes), begin + align - aligned);
    got = as_pointer(aligned);
  }
  expect_low_addresses(got, bytes);
  // A huge page would keep two megabytes for one block, and khugepaged would bring back discarded
  // memory. The call fails on systems without huge pages, which is harmless.
  (void)::madvise(got, bytes, MADV_NOHUGEPAGE);
#ifdef TROUPE_ASAN
  __lsan_register_root_region(got, bytes);
#endif
  return got;
}

void return_pages(void* begin, std::size_t bytes, std::size_t) noexcept {
#ifdef TROUPE_ASAN
  __lsan_unregister_root_region(begin, bytes);
#endif
  unpoison(begin, bytes);  // the addresses may be reused
  unmap(begin, bytes);
}

void discard_pages(void* begin, std::size_t bytes) noexcept {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = rounded_up(at, page);
  const std::uintptr_t last = (at + bytes) / page * page;
  if (first < last) (void)::madvise(as_pointer(first), last - first, MADV_DONTNEED);
}

void prefer_large_pages(void* begin, std::size_t bytes) noexcept {
  (void)::madvise(begin, bytes, MADV_HUGEPAGE);  // fails without huge pages
}

#else

void* obtain_pages(std::size_t bytes, std::size_t align) {
  void* const got = ::operator new(bytes, std::align_val_t{align});
  expect_low_addresses(got, bytes);
  return got;
}

void return_pages(void* begin, std::size_t bytes, std::size_t align) noexcept {
  unpoison(begin, bytes);
  ::operator delete(begin, std::align_val_t{align});
}

void discard_pages(void*, std::size_t) noexcept {}

void prefer_large_pages(void*, std::size_t) noexcept {}

#endif

}  // namespace troupe::detail
