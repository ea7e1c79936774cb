// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace.hpp"

namespace troupe::model {

/// Counts what the executions of one exploration have shown: the labels of seen(), and both results
/// of each question of varies().
///
/// A label is noted when an execution comes to it, not when that execution ends. So an execution
/// counts that ends in a state that was reached before: exhaustive search makes no further choice
/// there, because another execution has made all of them from that state.
class sightings {
 public:
  explicit sightings(const std::vector<std::string_view>& must_be_seen) {
    for (const std::string_view each : must_be_seen) {
      find(each, false, {}).is_required = true;
    }
  }

  /// The exploration that is under way; null between two of them.
  static inline sightings* active = nullptr;

  void next_execution() noexcept { ++executions_; }

  void note(std::string_view label) { count(find(label, false, {}).yes); }

  void note(std::string_view question, bool result, source_line where) {
    entry& one = find(question, true, where);
    one.is_required = true;
    count(result ? one.yes : one.no);
  }

  /// Everything that must be seen and never was, in words.
  [[nodiscard]] std::vector<std::string> never_seen() const {
    std::vector<std::string> all;
    for (const entry& each : entries_) {
      if (!each.is_required) continue;
      if (each.yes.executions == 0) all.push_back(name(each, true));
      if (each.is_question && each.no.executions == 0) all.push_back(name(each, false));
    }
    return all;
  }

  /// A line for each label: in how many executions it was seen.
  [[nodiscard]] std::string text() const {
    std::string lines;
    const auto add = [&](const entry& of, bool result) {
      const std::uint64_t times = (result ? of.yes : of.no).executions;
      lines += "  " + std::to_string(times) + " of " + std::to_string(executions_) + ": " +
               name(of, result) + "\n";
    };
    for (const entry& each : entries_) {
      add(each, true);
      if (each.is_question) add(each, false);
    }
    return lines;
  }

 private:
  struct tally {
    std::uint64_t executions = 0;
    std::uint64_t last = 0;  // the number of the last one
  };
  struct entry {
    std::string label;
    bool is_question;
    source_line where;
    bool is_required = false;
    tally yes;
    tally no;
  };

  void count(tally& of) const noexcept {
    if (of.last == executions_) return;
    of.last = executions_;
    ++of.executions;
  }

  entry& find(std::string_view label, bool is_question, source_line where) {
    const auto same = [&](const entry& each) {
      return each.label == label && each.is_question == is_question &&
             each.where.line == where.line;
    };
    const auto found = std::find_if(entries_.begin(), entries_.end(), same);
    if (found != entries_.end()) return *found;
    return entries_.emplace_back(entry{std::string(label), is_question, where, false, {}, {}});
  }

  static std::string name(const entry& of, bool result) {
    if (!of.is_question) return "\"" + of.label + "\"";
    return "\"" + of.label + "\": " + (result ? "true" : "false") + " (" + to_string(of.where) +
           ")";
  }

  std::vector<entry> entries_;
  std::uint64_t executions_ = 0;
};

}  // namespace troupe::model
