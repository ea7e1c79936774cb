// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <troupe/memory/pool.hpp>
#include <utility>

namespace troupe::lab {

/// A message in a block from the pool, with the two words of an envelope: the next one, and how to
/// handle it. (Here it is always handled the same way; the word is there for its cost.)
template <class M, class Link>
struct node {
  explicit node(M&& from) : message(std::move(from)) {}

  Link next{};
  const void* how = nullptr;
  [[no_unique_address]] M message;
};

/// Moves a message into a new node. If that throws, nothing is leaked. A node is aligned to at
/// least 16, like the pool's blocks.
template <class Node, class M>
[[nodiscard]] Node* make_node(M&& message) {
  void* const block = pool_allocate(sizeof(Node), alignof(Node));
  struct give_back {
    void* block;
    ~give_back() {
      if (block != nullptr) pool_release(block, sizeof(Node), alignof(Node));
    }
  } guard{block};
  auto* const made = ::new (block) Node(std::forward<M>(message));
  guard.block = nullptr;
  return made;
}

template <class Node>
void free_node(Node* one) noexcept {
  std::destroy_at(one);
  pool_release(one, sizeof(Node), alignof(Node));
}

template <class Node>
struct free_node_after {
  explicit free_node_after(Node* that) : one(that) {}
  free_node_after(const free_node_after&) = delete;
  free_node_after& operator=(const free_node_after&) = delete;
  ~free_node_after() { free_node(one); }
  Node* one;
};

}  // namespace troupe::lab
