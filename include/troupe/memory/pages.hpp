// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// Whole pages, from the system and back. What is Linux-only about memory is in pages.cpp; elsewhere
// pages come from operator new, and discarding them does nothing.

namespace troupe::detail {

/// What chunks are multiples of. Where the system's pages are larger, less can be discarded.
inline constexpr std::size_t page_bytes = 4096;

/// Every address that the pool hands out is below 2^48, so that it and 16 bits more fit in a word.
inline constexpr unsigned address_bits = 48;

/// Fails if what lies there does not fit into address_bits.
void expect_low_addresses(const void* begin, std::size_t bytes) noexcept;

/// Memory that reads as zero and costs nothing before it is touched. `align` is a power of two, and
/// at least a page. LeakSanitizer looks into it for pointers.
///
/// Errors: std::bad_alloc.
[[nodiscard]] void* obtain_pages(std::size_t bytes, std::size_t align);

/// Ends what obtain_pages() gave.
void return_pages(void* begin, std::size_t bytes, std::size_t align) noexcept;

/// Gives the memory back but keeps the addresses. What is there is lost, and may read as zero.
void discard_pages(void* begin, std::size_t bytes) noexcept;

/// What large pages are multiples of, where there are any.
inline constexpr std::size_t large_page_bytes = std::size_t{2} << 20;

/// Asks for large pages there: for much memory that is used here and there, and not given back in parts. Each
/// is then one entry in the processor's cache of addresses, and costs one fault. Only an advice.
void prefer_large_pages(void* begin, std::size_t bytes) noexcept;

}  // namespace troupe::detail
