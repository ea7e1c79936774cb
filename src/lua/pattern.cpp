// SPDX-License-Identifier: Apache-2.0

#include "pattern.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "pattern_set.hpp"

namespace troupe::lua::detail {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace

pattern_error::pattern_error(const char* what) noexcept {
  std::snprintf(text_.data(), text_.size(), "%s", what);
}

pattern_error pattern_error::invalid_capture(int index) noexcept {
  pattern_error made("");
  std::snprintf(made.text_.data(), made.text_.size(), "invalid capture index %%%d", index);
  return made;
}

// ── Single characters: x, ., %a, [set] ────────────────────────────────────────────────────────

const char* pattern_matcher::end_of_single(const char* item) const {
  const char* const end = pattern_end();
  if (*item == '%') {
    if (item + 1 == end) throw pattern_error("malformed pattern (ends with '%')");
    return item + 2;
  }
  if (*item != '[') return item + 1;
  const char* at = item + 1;
  if (at != end && *at == '^') ++at;
  // The first character is part of the set, even if it is a bracket.
  do {
    if (at != end && *at == '%') ++at;
    if (at != end) ++at;
    if (at == end) throw pattern_error("malformed pattern (missing ']')");
  } while (*at != ']');
  return at + 1;
}

bool pattern_matcher::is_single(const char* at, const char* item,
                                const char* after) const noexcept {
  if (at == subject_end()) return false;
  switch (*item) {
    case '.':
      return true;
    case '%': {
      const character_set* const all = character_set::of_class(item[1]);
      return all != nullptr ? all->has(*at) : item[1] == *at;
    }
    case '[':
      return is_in_set(*at, item, after);
    default:
      return *item == *at;
  }
}

// Returns the end of the run of characters, from `at` on, that match the item.
const char* pattern_matcher::run_of(const char* at, const char* item,
                                    const char* after) const noexcept {
  const char* const end = subject_end();
  const auto run_in = [&](const character_set& all) {
    return std::find_if_not(at, end, [&](char c) { return all.has(c); });
  };
  char literal = *item;
  switch (*item) {
    case '.':
      return end;
    case '[':
      if (at == end) return end;
      return run_in(set_of(item, after));
    case '%':
      if (const character_set* const all = character_set::of_class(item[1])) return run_in(*all);
      literal = item[1];
      break;
  }
  return std::find_if_not(at, end, [&](char c) { return c == literal; });
}

// ── Items ─────────────────────────────────────────────────────────────────────────────────────

// Matches the pattern from `item` on against the text at `at`. Returns the end of the match, or
// null. Only items with alternatives recurse, so that matching can backtrack to them.
const char* pattern_matcher::match(const char* at, const char* item, int nesting) {
  if (nesting == 0) throw pattern_error("pattern too complex");
  const char* const end = pattern_end();
  while (item != end) {
    switch (*item) {
      case '(':
        return match_open(at, item + 1, nesting);
      case ')':
        return match_close(at, item + 1, nesting);
      case '$':
        if (item + 1 == end) return at == subject_end() ? at : nullptr;
        break;
      case '%':
        if (item + 1 == end) break;
        if (item[1] == 'b') {
          at = match_balanced(at, item + 2);
          item += 4;
        } else if (item[1] == 'f') {
          item += 2;
          if (item == end || *item != '[') {
            throw pattern_error("missing '[' after '%f' in pattern");
          }
          at = match_frontier(at, item);
          item = end_of_single(item);
        } else if (is_digit(item[1])) {
          at = match_again(at, item[1]);
          item += 2;
        } else {
          break;
        }
        if (at == nullptr) return nullptr;
        continue;
    }
    const char* const after = end_of_single(item);
    spend(static_cast<std::size_t>(after - item));
    switch (after == end ? '\0' : *after) {
      case '*':
      case '+':
        return match_greedy(at, item, after, nesting);
      case '-':
        return match_lazy(at, item, after, nesting);
      case '?':
        if (is_single(at, item, after)) {
          if (const char* const to = match(at + 1, after + 1, nesting - 1)) return to;
        }
        item = after + 1;
        break;
      default:
        if (!is_single(at, item, after)) return nullptr;
        ++at;
        item = after;
    }
  }
  return at;
}

const char* pattern_matcher::match_greedy(const char* at, const char* item, const char* after,
                                          int nesting) {
  const std::size_t least = *after == '+' ? 1 : 0;
  std::size_t size = static_cast<std::size_t>(run_of(at, item, after) - at);
  spend(size / 8);
  for (; size >= least; --size) {
    spend(1);
    if (const char* const to = match(at + size, after + 1, nesting - 1)) return to;
    if (size == 0) break;
  }
  return nullptr;
}

const char* pattern_matcher::match_lazy(const char* at, const char* item, const char* after,
                                        int nesting) {
  for (;; ++at) {
    if (const char* const to = match(at, after + 1, nesting - 1)) return to;
    spend(static_cast<std::size_t>(after - item));
    if (!is_single(at, item, after)) return nullptr;
  }
}

// %bxy: matches up to the y that balances the x at `at`.
const char* pattern_matcher::match_balanced(const char* at, const char* ends) {
  if (pattern_end() - ends < 2) {
    throw pattern_error("malformed pattern (missing arguments to '%b')");
  }
  const char* const end = subject_end();
  if (at == end || *at != ends[0]) return nullptr;
  std::size_t deep = 1;
  const char* to = at + 1;
  for (; to != end; ++to) {
    if (*to == ends[1]) {
      if (--deep == 0) break;
    } else if (*to == ends[0]) {
      ++deep;
    }
  }
  spend(static_cast<std::size_t>(to - at) / 4 + 1);
  return to == end ? nullptr : to + 1;
}

// %f[set]: a character of the set begins here, after one outside of it. The text counts as
// surrounded by zeros.
const char* pattern_matcher::match_frontier(const char* at, const char* set) {
  const char* const after = end_of_single(set);
  spend(static_cast<std::size_t>(after - set));
  const char before = at == subject_.data() ? '\0' : at[-1];
  const char here = at == subject_end() ? '\0' : *at;
  return !is_in_set(before, set, after) && is_in_set(here, set, after) ? at : nullptr;
}

// ── Captures ──────────────────────────────────────────────────────────────────────────────────

const char* pattern_matcher::match_open(const char* at, const char* item, int nesting) {
  spend(1);
  if (captures_ == captures_max) throw pattern_error("too many captures");
  const int index = captures_;
  const bool position = item != pattern_end() && *item == ')';
  parts_[static_cast<std::size_t>(index)] = {at, at, position ? kind::position : kind::open};
  captures_ = index + 1;
  const char* const to = match(at, position ? item + 1 : item, nesting - 1);
  if (to == nullptr) captures_ = index;
  return to;
}

const char* pattern_matcher::match_close(const char* at, const char* item, int nesting) {
  spend(1);
  int index = captures_ - 1;
  while (index >= 0 && parts_[static_cast<std::size_t>(index)].is != kind::open) --index;
  if (index < 0) throw pattern_error("invalid pattern capture");
  part& closed = parts_[static_cast<std::size_t>(index)];
  closed.end = at;
  closed.is = kind::closed;
  const char* const to = match(at, item, nesting - 1);
  if (to == nullptr) closed.is = kind::open;
  return to;
}

// %1: the captured text again.
const char* pattern_matcher::match_again(const char* at, char digit) {
  const int index = digit - '1';
  if (index < 0 || index >= captures_) throw pattern_error::invalid_capture(index + 1);
  const part& before = parts_[static_cast<std::size_t>(index)];
  if (before.is == kind::open) throw pattern_error::invalid_capture(index + 1);
  const std::size_t size = static_cast<std::size_t>(before.end - before.begin);
  spend(size / 8 + 1);
  if (before.is == kind::position || static_cast<std::size_t>(subject_end() - at) < size) {
    return nullptr;
  }
  return size == 0 || std::memcmp(before.begin, at, size) == 0 ? at + size : nullptr;
}

pattern_matcher::capture pattern_matcher::captured(int index) const {
  if (index >= captures_) {
    if (index != 0) throw pattern_error::invalid_capture(index + 1);
    return {all(), {}};
  }
  const part& one = parts_[static_cast<std::size_t>(index)];
  switch (one.is) {
    case kind::position:
      return {{}, static_cast<std::size_t>(one.begin - subject_.data())};
    case kind::closed:
      return {{one.begin, static_cast<std::size_t>(one.end - one.begin)}, {}};
    case kind::open:
      break;
  }
  throw pattern_error("unfinished capture");
}

// ── Where to look ─────────────────────────────────────────────────────────────────────────────

// Determines whether a match must begin with one of certain characters, perhaps in a capture.
void pattern_matcher::prepare() {
  begins_ = start::any;
  const char* const end = pattern_end();
  const char* item = pattern_.data();
  if (item != end && *item == '(') ++item;
  if (item == end || *item == '(' || *item == ')' || *item == '.') return;
  if (*item == '$' && item + 1 == end) return;
  if (*item == '%' && item + 1 != end && (item[1] == 'b' || item[1] == 'f' || is_digit(item[1]))) {
    return;
  }
  const char* const after = end_of_single(item);
  if (after != end && (*after == '*' || *after == '?' || *after == '-')) return;
  begins_ = start::set;
  if (*item == '[') {
    spend(static_cast<std::size_t>(after - item));
    set_ = set_of(item, after);
  } else if (const character_set* const all =
                 *item == '%' ? character_set::of_class(item[1]) : nullptr) {
    set_ = *all;
  } else {
    begins_ = start::literal;
    literal_ = after[-1];
  }
}

// Returns null if no further place is possible.
const char* pattern_matcher::next_candidate(const char* at) const noexcept {
  const char* const end = subject_end();
  switch (begins_) {
    case start::literal:
      if (at == end) return nullptr;
      return static_cast<const char*>(
          std::memchr(at, literal_, static_cast<std::size_t>(end - at)));
    case start::set:
      at = std::find_if(at, end, [this](char c) { return set_.has(c); });
      return at == end ? nullptr : at;
    case start::unknown:
    case start::any:
      break;
  }
  return at;
}

bool pattern_matcher::search(std::size_t from) {
  if (begins_ == start::unknown) prepare();
  const char* const end = subject_end();
  for (const char* at = subject_.data() + from;; ++at) {
    const char* const next = next_candidate(at);
    spend(static_cast<std::size_t>((next != nullptr ? next : end) - at) / 8 + 1);
    if (next == nullptr) return found(nullptr, nullptr);
    at = next;
    captures_ = 0;
    if (const char* const to = match(at, pattern_.data(), nesting_max)) return found(at, to);
    if (at == end) return found(nullptr, nullptr);
  }
}

bool pattern_matcher::match_at(std::size_t from) {
  const char* const at = subject_.data() + from;
  captures_ = 0;
  const char* const to = match(at, pattern_.data(), nesting_max);
  return found(to != nullptr ? at : nullptr, to);
}

// Both are null if nothing was found.
bool pattern_matcher::found(const char* from, const char* to) noexcept {
  if (from == nullptr) return false;
  begin_ = static_cast<std::size_t>(from - subject_.data());
  end_ = static_cast<std::size_t>(to - subject_.data());
  return true;
}

void pattern_matcher::report(std::size_t more) {
  const std::size_t steps = report_each - unreported_ + more;
  unreported_ = report_each;
  meter_.spend(meter_.self, steps);
}

bool is_literal(std::string_view pattern) noexcept {
  return pattern.find_first_of("^$*+?.([%-") == std::string_view::npos;
}

}  // namespace troupe::lua::detail
