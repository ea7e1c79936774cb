// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <troupe/message/address.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::detail {

/// Which questions could be a part of a circle in which nobody is answered. Each such circle has an actor that
/// does nothing else until it has its answer: its exclusive handler waits, or it waits in asking::get(). What an exclusive handler
/// asks has a number, and so has what a handler awaits in order to answer a question with a number. When the time
/// of one is over, those that are waited for are walked, and a circle is named.
///
/// Not followed: a reply that is kept or passed on, but for the handler that answers it then; a question that was asked
/// elsewhere than in the handler that awaits it; what a handler awaits in order to answer a get(). Of any() each
/// question counts as if its answer were needed.
///
/// Threads: any.
/// Cost:    a mutex of the system and a node of a table, which is used again, for these questions only.
class circles {
 public:
  using number = std::uint32_t;  // 0: none

  struct question {
    number own;
    address who;  // asks
    address to;
    number because;  // of the question that is to be answered with it; or none
    bool blocks;     // who asks does nothing else meanwhile
  };

  /// One that no other question has, in any system, of the last four thousand million.
  [[nodiscard]] static number next_number() noexcept;

  /// From now on its answer is waited for; until the same question is given to end(), or clear() is called.
  void begin(const question& one) noexcept;
  void end(const question& one) noexcept;
  void clear() noexcept;  // a new system begins

  /// "clerk waits for teller, which waits for clerk", if one that is waited for, from this question on, waits in
  /// a circle; else null. The question need not have begun; `own` may be none, and `who` nobody, for a thread.
  [[nodiscard]] std::unique_ptr<std::string> find(const question& from) noexcept;

 private:
  /// Questions by a key that several may share. A node that is taken out is put in again.
  template <class Key>
  class table {
   public:
    using questions = std::unordered_multimap<Key, question>;

    void add(const Key& key, const question& one);  // throws std::bad_alloc
    void remove(const Key& key, number one) noexcept;
    void clear() noexcept { all_.clear(); }
    [[nodiscard]] auto of(const Key& key) const { return all_.equal_range(key); }

   private:
    questions all_;
    std::vector<typename questions::node_type> spare_;  // no more than spare_max
  };
  static constexpr std::size_t spare_max = 256;

  [[nodiscard]] std::vector<question> waits_for(const question& one, const question& first) const;
  [[nodiscard]] std::vector<question> find_from(const question& first) const;

  mutable mutex mutex_;        // guards what follows
  table<address> that_block_;  // by who asks
  table<number> nested_;       // by what they are to answer
};

}  // namespace troupe::detail
