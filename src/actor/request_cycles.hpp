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

/// The requests that could be part of a wait cycle, in which no actor ever gets its reply. Each
/// such cycle contains an actor that does nothing else until it has its reply: its exclusive
/// handler is suspended, or it blocks in ask_future::get(). A request made by an exclusive handler gets
/// a number, and so does every request that a handler awaits in order to reply to a numbered one.
/// When a request times out, the requests that are waited for are walked, and a cycle, if there is
/// one, is named.
///
/// Not followed: a reply that is kept or passed on, except to the handler that replies then; a
/// request made outside the handler that awaits it; what a handler awaits in order to reply to a
/// get(). Each request in any() counts as if its reply were needed.
///
/// Threads: any.
/// Cost:    only for these requests: a mutex of the system, and a table node that is reused.
class request_cycles {
 public:
  using number = std::uint32_t;  // 0: none

  struct question {
    number own;
    address who;  // the requester
    address to;
    number because;  // the request that will be answered with this one's reply; 0: none
    bool blocks;     // the requester does nothing else meanwhile
  };

  /// Returns a number that no other request in any system has had within the last four billion.
  [[nodiscard]] static number next_number() noexcept;

  /// Its reply is waited for from now on, until end() is called with the same request, or clear().
  void begin(const question& one) noexcept;
  void end(const question& one) noexcept;
  void clear() noexcept;  // a new system begins
  /// Requests that have begun and not ended.
  [[nodiscard]] std::size_t size() const noexcept;

  /// Requests that are waited for, in all systems. Counted before begin() returns.
  [[nodiscard]] static std::uint64_t requests_anywhere() noexcept;
  /// Adds the actors that `who` waits for without handling anything else: the actors that it has
  /// asked, and those that these have asked in order to reply. Throws std::bad_alloc.
  void add_asked_by(const address& who, std::vector<address>& to) const;

  /// Returns "clerk waits for teller, which waits for clerk" if a request that is waited for,
  /// starting with this one, is part of a wait cycle; else null. The request need not have begun.
  /// For a thread, `own` may be 0 and `who` the null address.
  [[nodiscard]] std::unique_ptr<std::string> find(const question& from) noexcept;

 private:
  /// Requests by a key that several may share. Removed nodes are reused.
  template <class Key>
  class table {
   public:
    using questions = std::unordered_multimap<Key, question>;

    void add(const Key& key, const question& one);  // throws std::bad_alloc
    void remove(const Key& key, number one) noexcept;
    void clear() noexcept;
    [[nodiscard]] auto of(const Key& key) const { return all_.equal_range(key); }
    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

   private:
    questions all_;
    std::vector<typename questions::node_type> spare_;  // at most spare_max
  };
  static constexpr std::size_t spare_max = 256;

  [[nodiscard]] std::vector<question> waits_for(const question& one, const question& first) const;
  [[nodiscard]] std::vector<question> find_from(const question& first) const;

  mutable mutex mutex_;        // guards the following members
  table<address> that_block_;  // by requester
  table<number> nested_;       // by the request that they help to answer
};

}  // namespace troupe::detail
