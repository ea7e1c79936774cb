// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::model {

/// A table of objects by address: finds the last object at an address, and the objects in use
/// within a range.
///
/// An execution frees hundreds of blocks and knows thousands of addresses. The cost of a range
/// therefore must not depend on the other addresses: each granule has a list of its own.
template <class Object>
class address_table {
 public:
  void clear() noexcept {
    last_at_.clear();
    heads_.clear();
    nodes_.clear();
  }

  /// The last object at this address, in use or not; null if there was never one.
  [[nodiscard]] Object* find(const void* at) const noexcept {
    const auto it = last_at_.find(at);
    return it == last_at_.end() ? nullptr : it->second;
  }

  /// Puts an object in use at this address, in place of an earlier one.
  void put(const void* at, Object& object) {
    last_at_[at] = &object;
    std::uint32_t& head = heads_.try_emplace(granule(at), none).first->second;
    for (std::uint32_t i = head; i != none; i = nodes_[i].next) {
      if (nodes_[i].at != at) continue;
      nodes_[i].object = &object;
      return;
    }
    nodes_.push_back({at, &object, head});
    head = static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  /// Calls `fn(object)` for the objects in use in this range, until it returns true.
  template <class Function>
  void for_each(const void* begin, std::size_t bytes, Function&& fn) const {
    if (bytes == 0) return;
    for (std::uintptr_t g = granule(begin), last = granule(end(begin, bytes) - 1); g <= last; ++g) {
      const auto head = heads_.find(g);
      if (head == heads_.end()) continue;
      for (std::uint32_t i = head->second; i != none; i = nodes_[i].next) {
        if (nodes_[i].at < begin || nodes_[i].at >= end(begin, bytes)) continue;
        if (fn(*nodes_[i].object)) return;
      }
    }
  }

  /// Calls `fn(object)` for the objects in use in this range. They are no longer in use afterwards.
  template <class Function>
  void take(const void* begin, std::size_t bytes, Function&& fn) {
    if (bytes == 0) return;
    for (std::uintptr_t g = granule(begin), last = granule(end(begin, bytes) - 1); g <= last; ++g) {
      const auto head = heads_.find(g);
      if (head == heads_.end()) continue;
      for (std::uint32_t* i = &head->second; *i != none;) {
        node& each = nodes_[*i];
        if (each.at < begin || each.at >= end(begin, bytes)) {
          i = &each.next;
          continue;
        }
        fn(*each.object);
        *i = each.next;
      }
    }
  }

 private:
  static constexpr std::uint32_t none = 0xffff'ffff;
  struct node {
    const void* at;
    Object* object;
    std::uint32_t next;  // of the same granule
  };

  static std::uintptr_t granule(const void* at) noexcept {
    return reinterpret_cast<std::uintptr_t>(at) / 256;
  }
  static const char* end(const void* begin, std::size_t bytes) noexcept {
    return static_cast<const char*>(begin) + bytes;
  }

  boost::unordered_flat_map<const void*, Object*> last_at_;
  boost::unordered_flat_map<std::uintptr_t, std::uint32_t> heads_;
  std::vector<node> nodes_;
};

}  // namespace troupe::model
