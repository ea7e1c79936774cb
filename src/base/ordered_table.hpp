// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

namespace troupe::detail {

/// A hash table that is iterated in insertion order, whatever the hashes are. The hash of an
/// address differs between processes, so iteration by hash would not be reproducible.
///
/// Threads: one thread at a time.
/// Cost:    that of a std::unordered_map, plus two pointers per entry. A pointer to a value stays
///          valid until the value is erased.
template <class Key, class Value, class Hash = std::hash<Key>>
class ordered_table {
  struct node;
  using entry = std::pair<const Key, node>;
  struct node {
    Value value;
    entry* earlier = nullptr;
    entry* later = nullptr;
  };

 public:
  class iterator {
   public:
    struct reference {
      const Key& key;
      Value& value;
    };
    explicit iterator(entry* at) noexcept : at_(at) {}
    [[nodiscard]] reference operator*() const noexcept { return {at_->first, at_->second.value}; }
    iterator& operator++() noexcept {
      at_ = at_->second.later;
      return *this;
    }
    friend bool operator==(const iterator&, const iterator&) = default;

   private:
    entry* at_;
  };

  ordered_table() = default;
  ordered_table(const ordered_table&) = delete;
  ordered_table& operator=(const ordered_table&) = delete;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] iterator begin() noexcept { return iterator(first_); }
  [[nodiscard]] iterator end() noexcept { return iterator(nullptr); }

  /// Returns the value of the key, or null if the table does not contain it.
  [[nodiscard]] Value* find(const Key& key) noexcept {
    const auto at = entries_.find(key);
    return at != entries_.end() ? &at->second.value : nullptr;
  }

  /// Adds a value if the key is new. Returns the value of the key, and false if it existed already.
  /// Throws std::bad_alloc, with nothing added.
  std::pair<Value*, bool> try_add(const Key& key, Value value) {
    const auto [at, is_new] = entries_.try_emplace(key, std::move(value));
    if (is_new) {
      entry& fresh = *at;
      fresh.second.earlier = std::exchange(last_, &fresh);
      (fresh.second.earlier != nullptr ? fresh.second.earlier->second.later : first_) = &fresh;
    }
    return {&at->second.value, is_new};
  }

  void erase(const Key& key) noexcept {
    const auto at = entries_.find(key);
    if (at == entries_.end()) return;
    const node& gone = at->second;
    (gone.earlier != nullptr ? gone.earlier->second.later : first_) = gone.later;
    (gone.later != nullptr ? gone.later->second.earlier : last_) = gone.earlier;
    entries_.erase(at);
  }

 private:
  std::unordered_map<Key, node, Hash> entries_;
  entry* first_ = nullptr;
  entry* last_ = nullptr;
};

}  // namespace troupe::detail
