// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// TROUPE_NO_POISON: for a program built with AddressSanitizer whose libtroupe is built without it;
// the two share the pools.
#if defined(TROUPE_NO_POISON)
#elif defined(__SANITIZE_ADDRESS__)
#define TROUPE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TROUPE_ASAN 1
#endif
#endif

#ifdef TROUPE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace troupe::detail {

/// Makes every access to these bytes an error under AddressSanitizer. No effect otherwise.
inline void poison([[maybe_unused]] const void* begin,
                   [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef TROUPE_ASAN
  ASAN_POISON_MEMORY_REGION(begin, bytes);
#endif
}

/// Reverts poison().
inline void unpoison([[maybe_unused]] const void* begin,
                     [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef TROUPE_ASAN
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
#endif
}

}  // namespace troupe::detail
