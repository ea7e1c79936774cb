// SPDX-License-Identifier: Apache-2.0

#include "route_tree.hpp"

#include <algorithm>
#include <array>

#include "path_segments.hpp"

namespace troupe::http::detail {
namespace {

using kind = route_pattern::kind;

// Without {name...}, which has no node of its own.
std::span<const route_pattern::segment> without_rest(const route_pattern& of) noexcept {
  return std::span{of.segments}.first(of.segments.size() - (of.ends_with_rest() ? 1 : 0));
}

}  // namespace

const route_tree::node* route_tree::reach(segments those) const noexcept {
  if (nodes_.empty()) return nullptr;
  std::uint32_t at = 0;
  for (const route_pattern::segment& each : those) {
    at = each.is == kind::literal ? nodes_[at].literals.find(each.text) : nodes_[at].parameter;
    if (at == none) return nullptr;
  }
  return &nodes_[at];
}

route_tree::node& route_tree::make(segments those) {
  if (nodes_.empty()) nodes_.emplace_back();
  std::uint32_t at = 0;
  for (const route_pattern::segment& each : those) {
    const bool is_literal = each.is == kind::literal;
    std::uint32_t next = is_literal ? nodes_[at].literals.find(each.text) : nodes_[at].parameter;
    if (next == none) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
      if (is_literal) {
        nodes_[at].literals.insert(each.text, next);
      } else {
        nodes_[at].parameter = next;
      }
    }
    at = next;
  }
  depth_ = std::max(depth_, those.size());
  return nodes_[at];
}

std::uint32_t route_tree::find(const route_pattern& pattern) const noexcept {
  const node* const at = reach(without_rest(pattern));
  if (at == nullptr) return none;
  return pattern.ends_with_rest() ? at->rest : at->here;
}

std::uint32_t route_tree::find_files(const route_pattern& pattern) const noexcept {
  const node* const at = reach(without_rest(pattern));
  return at == nullptr ? none : at->files;
}

std::uint32_t route_tree::find_rest(const route_pattern& prefix) const noexcept {
  const node* const at = reach(prefix.segments);
  return at == nullptr ? none : at->rest;
}

void route_tree::insert(const route_pattern& pattern, std::uint32_t value) {
  node& at = make(without_rest(pattern));
  (pattern.ends_with_rest() ? at.rest : at.here) = value;
}

void route_tree::insert_files(const route_pattern& prefix, std::uint32_t value) {
  make(prefix.segments).files = value;
}

struct route_tree::cut {  // not initialized
  std::uint32_t begin;
  std::uint32_t size;
  std::uint32_t hash;
};

// The segments are cut and hashed once, whatever the number of nodes that are visited. A path that
// has more segments than the deepest node is cut after the one that shows it.
struct route_tree::walk {
  const route_tree& in;
  const std::string_view path;
  std::array<cut, route_pattern::segments_max + 1> cuts;
  std::size_t count = 0;
  std::uint32_t visited = 0;

  walk(const route_tree& tree, std::string_view of, std::string_view sent) noexcept
      : in(tree), path(of) {
    path_segments all(path, sent);
    path_segments::segment one;
    while (count <= in.depth_ && all.next(one)) {
      const std::uint32_t hash = text_index::hash_of(path.substr(one.begin, one.size));
      cuts[count++] = {one.begin, one.size, hash};
    }
  }

  found visit(std::uint32_t node, std::size_t depth) noexcept {
    ++visited;
    const route_tree::node& at = in.nodes_[node];
    if (depth == count) {
      if (at.here != none) return {at.here, false, visited};
      return {at.files, true, visited};
    }
    const cut& next = cuts[depth];
    const std::string_view text = path.substr(next.begin, next.size);
    if (const std::uint32_t child = at.literals.find(text, next.hash); child != none) {
      if (const found below = visit(child, depth + 1); below.value != none) return below;
    }
    if (at.parameter != none && next.size > 0) {
      if (const found below = visit(at.parameter, depth + 1); below.value != none) return below;
    }
    if (at.rest != none) return {at.rest, false, visited};
    return {at.files, true, visited};
  }
};

route_tree::found route_tree::match(std::string_view path, std::string_view sent) const noexcept {
  if (nodes_.empty() || path.empty()) return {};
  walk one(*this, path, sent);
  found result = one.visit(0, 0);
  result.visited = one.visited;
  return result;
}

std::uint32_t route_tree::match_files(std::string_view path) const noexcept {
  if (nodes_.empty() || path.empty()) return none;
  path_segments all(path, {});
  path_segments::segment one;
  std::uint32_t at = 0;
  std::uint32_t longest = nodes_[at].files;
  while (all.next(one)) {
    at = nodes_[at].literals.find(path.substr(one.begin, one.size));
    if (at == none) break;
    if (nodes_[at].files != none) longest = nodes_[at].files;
  }
  return longest;
}

}  // namespace troupe::http::detail
