// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// Obtaining whole pages from the system and returning them. The Linux-specific parts are in
// pages.cpp; elsewhere pages come from operator new, and discarding them has no effect.

namespace troupe::detail {

/// The unit of chunk sizes. If the system's pages are larger, less memory can be discarded.
inline constexpr std::size_t page_bytes = 4096;

/// Every address that the pool returns is below 2^48, so that it fits in a word together with 16
/// more bits.
inline constexpr unsigned address_bits = 48;

/// Aborts the process if these addresses do not fit into address_bits.
void expect_low_addresses(const void* begin, std::size_t bytes) noexcept;

/// Obtains memory that reads as zero and uses no physical memory until it is touched. `align` is a
/// power of two, and at least a page. LeakSanitizer searches it for pointers.
///
/// Errors: std::bad_alloc.
[[nodiscard]] void* obtain_pages(std::size_t bytes, std::size_t align);

/// Returns memory from obtain_pages() to the system.
void return_pages(void* begin, std::size_t bytes, std::size_t align) noexcept;

/// Returns the memory but keeps the addresses. The content is lost, and may read as zero.
void discard_pages(void* begin, std::size_t bytes) noexcept;

/// The unit of large pages, on systems that have them.
inline constexpr std::size_t large_page_bytes = std::size_t{2} << 20;

/// Requests large pages for this range, for a large amount of memory that is accessed randomly and
/// not returned in parts. Each large page then takes one TLB entry and costs one page fault. It is
/// only a hint.
void prefer_large_pages(void* begin, std::size_t bytes) noexcept;

}  // namespace troupe::detail
