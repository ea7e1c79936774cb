// SPDX-License-Identifier: Apache-2.0
#include "sites.hpp"

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "trace.hpp"

namespace troupe::model {
namespace {

const char* name_of(operation what) {
  switch (what) {
    case operation::load:
      return "load";
    case operation::store:
      return "store";
    case operation::change:
      return "change";
    case operation::failure:
      return "failure";
  }
  return "?";
}

std::memory_order parse_order(const std::string& text) {
  for (const std::memory_order each : {std::memory_order_acquire, std::memory_order_release,
                                       std::memory_order_acq_rel, std::memory_order_seq_cst}) {
    if (order_name(each) == ", " + text) return each;
  }
  return std::memory_order_relaxed;
}

// A build that does not depend on its folder records file names relative to the root. Those from
// the compiler cache have "../../" before that. One binary may contain both.
std::string_view from_root(std::string_view file) {
  while (file.starts_with("../")) file.remove_prefix(3);
  return file;
}

// Places are compared by the addresses of their file names, which are literals. This is cheap, and
// at worst one place is recorded twice.
struct place {
  const char* file;
  std::uint32_t line;
  operation what;

  friend bool operator==(const place&, const place&) = default;
  friend std::size_t hash_value(const place& p) noexcept {
    return mix(mix(reinterpret_cast<std::uintptr_t>(p.file), p.line),
               static_cast<std::uint64_t>(p.what));
  }
};

class listed {
 public:
  explicit listed(const char* to) : to_(to) {}
  ~listed() {
    std::FILE* const out = std::fopen(to_, "w");
    if (out == nullptr) return;
    for (const std::string& each : lines_) std::fprintf(out, "%s\n", each.c_str());
    std::fclose(out);
  }
  listed(const listed&) = delete;
  listed& operator=(const listed&) = delete;

  void begin_check(std::string name) {
    seen_.clear();
    check_ = std::move(name);
  }

  void add(source_line where, operation what, std::memory_order order) {
    if (!seen_.insert({where.file, where.line, what}).second) return;
    lines_.insert(std::string(from_root(where.file)) + ":" + std::to_string(where.line) + " " +
                  name_of(what) + " " + order_name(order).substr(2) + " " + check_);
  }

 private:
  const char* const to_;
  std::string check_ = "?";
  boost::unordered_flat_set<place> seen_;  // by this check
  std::set<std::string> lines_;
};

struct weakening {
  std::string file;
  std::uint32_t line = 0;  // 0 means unknown
  std::string what;
  std::memory_order order = std::memory_order_relaxed;

  weakening() {
    const char* const text = std::getenv("TROUPE_MODEL_WEAKEN");
    if (text == nullptr) return;
    const std::string all(text);
    const std::size_t first = all.find(' ');
    const std::size_t second = all.find(' ', first + 1);
    const std::size_t colon = all.rfind(':', first);
    if (first == std::string::npos || second == std::string::npos || colon == std::string::npos) {
      std::fprintf(stderr, "TROUPE_MODEL_WEAKEN is '%s', not 'file:line operation order'\n", text);
      std::exit(2);
    }
    file = all.substr(0, colon);
    line = static_cast<std::uint32_t>(std::stoul(all.substr(colon + 1, first - colon - 1)));
    what = all.substr(first + 1, second - first - 1);
    order = parse_order(all.substr(second + 1));
  }
};

// Null if they are not recorded.
listed* sites() {
  static const char* const to = std::getenv("TROUPE_MODEL_SITES");
  if (to == nullptr) return nullptr;
  static listed all(to);
  return &all;
}

}  // namespace

void begin_check(std::string name) {
  if (listed* const all = sites()) all->begin_check(std::move(name));
}

std::memory_order order_at(source_line where, operation what, std::memory_order written) {
  if (listed* const all = sites()) all->add(where, what, written);
  static const weakening weaker;
  if (weaker.line != 0 && weaker.line == where.line && weaker.what == name_of(what) &&
      weaker.file == from_root(where.file)) {
    return weaker.order;
  }
  return written;
}

}  // namespace troupe::model
