// SPDX-License-Identifier: Apache-2.0
#pragma once

// TROUPE_EXPECTS(condition, "text") states a precondition that the caller must fulfil. It is
// checked in every build. TROUPE_ASSERT(condition, "text") states an internal invariant. It is
// checked unless NDEBUG is defined; otherwise the condition is compiled but not evaluated.
//
// Both print `file:line: text (condition)` to stderr and abort. Neither allocates.

namespace troupe::detail {

[[noreturn]] void contract_broken(const char* file, int line, const char* condition,
                                  const char* text) noexcept;

}  // namespace troupe::detail

#define TROUPE_EXPECTS(condition, text)              \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::troupe::detail::contract_broken(__FILE__, __LINE__, #condition, text))

#ifdef NDEBUG
#define TROUPE_ASSERT(condition, text) \
  static_cast<void>(sizeof(static_cast<bool>(condition) ? 1 : 0))
#else
#define TROUPE_ASSERT(condition, text) TROUPE_EXPECTS(condition, text)
#endif
