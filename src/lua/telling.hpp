// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::lua::detail {

/// Tells a program, in a turn of its instance, that something has happened: program::told(what). From any thread, but
/// never with a lock: it sends a message. It does nothing if the instance has ended.
using teller = std::shared_ptr<const std::function<void(std::uint64_t what)>>;

/// Who has to be told, gathered under a lock and told after it.
class to_be_told {
 public:
  /// Room for one more, so that add() cannot fail.
  void reserve_one() { all_.reserve(all_.size() + 1); }
  void add(const teller& whom, std::uint64_t what) { all_.emplace_back(whom, what); }
  void tell() const {
    for (const auto& [whom, what] : all_) (*whom)(what);
  }

 private:
  std::vector<std::pair<teller, std::uint64_t>> all_;
};

}  // namespace troupe::lua::detail
