// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether this is a build with a sanitizer. Tests with many repetitions repeat less often there.
// GCC has macros for it, and Clang 16 has __has_feature.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TROUPE_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TROUPE_TEST_SANITIZED 1
#endif
#endif

namespace troupe::test {

#ifdef TROUPE_TEST_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace troupe::test
