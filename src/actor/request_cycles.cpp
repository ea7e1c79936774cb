// SPDX-License-Identifier: Apache-2.0
#include "request_cycles.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/per_process.hpp>

namespace troupe::detail {

namespace {

std::string name_of(const address& who) {
  control_block* const held = control_block::hold(who);
  if (held == nullptr) return to_string(who);
  std::string name(held->name());
  held->let_go();
  return name;
}

}  // namespace

// [suspended] seq_cst to increment and to read: see pauses::walk::leads_to(). Relaxed to decrement:
// a thread that still reads the old value only searches in vain.
static atomic<std::uint64_t>& count_anywhere() noexcept {
  struct count {
    atomic<std::uint64_t> value{0};
  };
  return per_process<count>::here().value;
}

std::uint64_t request_cycles::requests_anywhere() noexcept {
  return count_anywhere().load(seq_cst);
}

template <class Key>
void request_cycles::table<Key>::clear() noexcept {
  count_anywhere().fetch_sub(all_.size(), relaxed);  // [suspended]
  all_.clear();
}

template <class Key>
void request_cycles::table<Key>::add(const Key& key, const question& one) {
  if (spare_.empty()) {
    all_.emplace(key, one);
    count_anywhere().fetch_add(1, seq_cst);  // [suspended]
    if (spare_.capacity() < spare_max) spare_.reserve(spare_max);
    return;
  }
  typename questions::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = key;
  node.mapped() = one;
  all_.insert(std::move(node));
  count_anywhere().fetch_add(1, seq_cst);  // [suspended]
}

template <class Key>
void request_cycles::table<Key>::remove(const Key& key, number one) noexcept {
  const auto [begin, end] = all_.equal_range(key);
  const auto there =
      std::find_if(begin, end, [one](const auto& each) { return each.second.own == one; });
  if (there == end) return;
  count_anywhere().fetch_sub(1, relaxed);  // [suspended]
  if (spare_.size() < spare_.capacity()) {
    spare_.push_back(all_.extract(there));
  } else {
    all_.erase(there);
  }
}

request_cycles::number request_cycles::next_number() noexcept {
  static atomic<number> last{0};
  // [circle-number] relaxed: only to tell requests apart.
  const number next = last.fetch_add(1, relaxed) + 1;
  return next != 0 ? next : next_number();
}

// Requests for which there is no memory are not recorded: then a wait cycle is not named.
void request_cycles::begin(const question& one) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (one.blocks) that_block_.add(one.who, one);
    if (one.because != 0) nested_.add(one.because, one);
  } catch (...) {
  }
}

void request_cycles::end(const question& one) noexcept {
  const std::lock_guard lock(mutex_);
  if (one.blocks) that_block_.remove(one.who, one.own);
  if (one.because != 0) nested_.remove(one.because, one.own);
}

std::size_t request_cycles::size() const noexcept {
  const std::lock_guard lock(mutex_);
  return that_block_.size() + nested_.size();
}

void request_cycles::clear() noexcept {
  const std::lock_guard lock(mutex_);
  that_block_.clear();
  nested_.clear();
}

void request_cycles::add_asked_by(const address& who, std::vector<address>& to) const {
  const std::lock_guard lock(mutex_);
  std::vector<number> answered_with;
  const auto [begin, end] = that_block_.of(who);
  for (auto each = begin; each != end; ++each) {
    to.push_back(each->second.to);
    if (each->second.own != 0) answered_with.push_back(each->second.own);
  }
  // A numbered request helps to answer at most one other, so none is added twice.
  for (std::size_t i = 0; i < answered_with.size(); ++i) {
    const auto [first, last] = nested_.of(answered_with[i]);
    for (auto each = first; each != last; ++each) {
      to.push_back(each->second.to);
      if (each->second.own != 0) answered_with.push_back(each->second.own);
    }
  }
}

// The requests that must be answered before this one can be. `first` counts as one that has begun.
std::vector<request_cycles::question> request_cycles::waits_for(const question& one,
                                                                const question& first) const {
  std::vector<question> before;
  if ((first.blocks && first.who == one.to) || (first.because != 0 && first.because == one.own)) {
    before.push_back(first);
  }
  const auto add = [&before](const auto& range) {
    for (auto each = range.first; each != range.second; ++each) before.push_back(each->second);
  };
  add(that_block_.of(one.to));
  if (one.own != 0) add(nested_.of(one.own));
  return before;
}

// The requests of a wait cycle, each of which waits for the next; empty if there is no cycle. A
// depth-first search that visits each request once.
std::vector<request_cycles::question> request_cycles::find_from(const question& first) const {
  struct step {
    question from;
    std::vector<question> before;
  };
  std::vector<step> path;
  std::unordered_set<number> seen;
  path.push_back({first, waits_for(first, first)});
  while (!path.empty()) {
    std::vector<question>& before = path.back().before;
    if (before.empty()) {
      path.pop_back();
      continue;
    }
    const question next = before.back();
    before.pop_back();
    const auto again = std::find_if(path.begin(), path.end(),
                                    [&](const step& s) { return s.from.own == next.own; });
    if (again != path.end()) {
      std::vector<question> circle;
      for (auto each = again; each != path.end(); ++each) circle.push_back(each->from);
      return circle;
    }
    if (seen.insert(next.own).second) path.push_back({next, waits_for(next, first)});
  }
  return {};
}

std::unique_ptr<std::string> request_cycles::find(const question& from) noexcept {
  try {
    std::vector<question> circle;
    {
      const std::lock_guard lock(mutex_);
      circle = find_from(from);
    }
    if (circle.empty()) return nullptr;
    auto text = std::make_unique<std::string>(name_of(circle.front().who));
    for (std::size_t i = 1; i <= circle.size(); ++i) {
      *text += i == 1 ? " waits for " : ", which waits for ";
      *text += name_of(circle[i % circle.size()].who);
    }
    return text;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace troupe::detail
