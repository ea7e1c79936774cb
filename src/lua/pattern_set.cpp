// SPDX-License-Identifier: Apache-2.0

#include "pattern_set.hpp"

namespace troupe::lua::detail {
namespace {

// One element of a set: a class, or the characters from first to last.
struct element {
  const character_set* all;
  unsigned char first;
  unsigned char last;
  const char* after;

  // As in Lua, an escape directly before the end takes the bracket. This is possible after a range,
  // [x-%%].
  element(const char* at, const char* set_end) noexcept
      : all(nullptr), first(static_cast<unsigned char>(*at)), last(first), after(at + 1) {
    if (*at == '%') {
      all = character_set::of_class(at[1]);
      first = last = static_cast<unsigned char>(at[1]);
      after = at + 2;
    } else if (set_end - at > 2 && at[1] == '-') {
      last = static_cast<unsigned char>(at[2]);
      after = at + 3;
    }
  }

  bool has(char c) const noexcept {
    const auto code = static_cast<unsigned char>(c);
    return all != nullptr ? all->has(c) : first <= code && code <= last;
  }
};

}  // namespace

bool is_in_set(char c, const char* set, const char* after) noexcept {
  const char* const end = after - 1;
  const bool inverted = set[1] == '^';
  for (const char* at = set + (inverted ? 2 : 1); at < end;) {
    const element one(at, end);
    if (one.has(c)) return !inverted;
    at = one.after;
  }
  return inverted;
}

character_set set_of(const char* set, const char* after) noexcept {
  character_set all;
  const char* const end = after - 1;
  const bool inverted = set[1] == '^';
  for (const char* at = set + (inverted ? 2 : 1); at < end;) {
    const element one(at, end);
    if (one.all != nullptr) {
      all.add(*one.all);
    } else {
      for (int c = one.first; c <= one.last; ++c) all.add(static_cast<char>(c));
    }
    at = one.after;
  }
  if (inverted) all.invert();
  return all;
}

}  // namespace troupe::lua::detail
