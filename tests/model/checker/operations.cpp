// SPDX-License-Identifier: Apache-2.0
// The effects of atomic operations: which store may be read, where a store may be placed, and the
// consequences.
#include <algorithm>

#include "cell.hpp"
#include "execution.hpp"
#include "sites.hpp"

namespace troupe::model {
namespace {

bool acquires(std::memory_order order) noexcept {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool is_seq_cst(std::memory_order order) noexcept { return order == std::memory_order_seq_cst; }

}  // namespace

moment execution::tick(source_line where) {
  thread_state& self = me();
  return {current_, ++self.clock.at[current_], where};
}

// Adds to the thread's history. The result names the event.
std::uint64_t execution::happened(std::uint64_t kind, std::uint64_t with) {
  return me().history = mix(mix(me().history, kind), with);
}

void execution::make_location(detail::cell of, source_line where) {
  names_.erase(of.at);
  if (making_shared_) {  // whichever thread creates it, all others know of it
    memory_.make(of.at, of.bytes, raw_value(of), mix(made, ++shared_made_), {0, 0, where}, true);
    return;
  }
  const moment now = tick(where);
  const std::uint64_t name = happened(made, ++me().made);
  memory_.make(of.at, of.bytes, raw_value(of), name, now, false);
}

location& execution::locate(detail::cell of, source_line where) {
  location* found = memory_.find(of.at);
  if (found == nullptr) {
    if (const block* in = find_block(of.at); in != nullptr && in->is_freed) {
      abandon("use after free: an atomic in a block that was freed by " + describe(in->freed));
    }
    // It existed before the execution, so its address is a name.
    found = &memory_.make(of.at, of.bytes, raw_value(of), reinterpret_cast<std::uintptr_t>(of.at),
                          {0, 0, where}, true);
  }
  if (traced_ && !names_.contains(of.at)) {
    const std::string used_as = name_in_use(where);
    if (!used_as.empty()) names_[of.at] = used_as + "#" + std::to_string(found->number);
  }
  if (found->is_freed) {
    if (traced_) tell(where, "uses ", describe(*found));
    abandon("use after free: " + describe(*found) + " was freed by " + describe(found->freed));
  }
  if (!memory::is_known(*found, me().clock)) {
    if (traced_) tell(where, "uses ", describe(*found));
    abandon("data race: " + describe(*found) + " is used by " + describe_thread(current_) +
            ", which does not know of its construction by " + describe(found->born));
  }
  return *found;
}

// Whether the next store is a read-modify-write that read this one.
bool execution::is_bound(const location& at, std::uint32_t position) const {
  return position + 1 < at.order.size() && at.order[position + 1]->is_rmw;
}

// Reading the same stale store over and over leads nowhere, because stores become visible
// eventually.
bool execution::is_repeated(const location& at, const store& from) {
  for (const repeated_read& each : me().last_reads) {
    if (each.at == &at) return each.from == &from && each.times > 1;
  }
  return false;
}

void execution::read_from(location& at, const store& from, std::memory_order order, moment now) {
  memory_.note_read(at, now, from);
  if (acquires(order)) me().clock.join(from.released);
  const std::uint32_t stale = from.position + 1 < at.order.size() ? 1 : 0;
  for (repeated_read& each : me().last_reads) {
    if (each.at != &at) continue;
    each.times = each.from == &from ? each.times + stale : stale;
    each.from = &from;
    return;
  }
  me().last_reads.push_back({&at, &from, stale});
}

void execution::note_seq_cst(location& at, moment now, const store* read, const store* written) {
  if (memory_.is_full()) abandon("too many seq_cst operations in one execution: make it shorter");
  memory_.note_seq_cst(at, now, me().clock, read, written);
}

store& execution::write_behind(location& at, const store& behind, bits value,
                               std::memory_order order, moment now, const store* read) {
  const std::uint64_t identity =
      happened(read != nullptr ? changed_it : stored, mix(at.name, behind.identity));
  store& fresh = memory_.insert(at, behind, value, now, identity, read != nullptr);
  if (releases(order)) fresh.released = me().clock;
  if (read != nullptr) fresh.released.join(read->released);
  if (is_seq_cst(order)) note_seq_cst(at, now, read, &fresh);
  set_raw_value({const_cast<void*>(at.at), at.bytes}, at.order.back()->value);
  progress();
  return fresh;
}

// Whether S permits an operation of this order. An acquire also knows what the store it reads has
// released.
bool execution::is_permitted(const location& at, std::memory_order order, const store* read,
                             const store* behind) {
  if (!is_seq_cst(order)) return true;
  vector_clock then = me().clock;
  if (read != nullptr && acquires(order)) then.join(read->released);
  return memory_.permits(at, then, read, behind);
}

const store* execution::pick_store(const std::vector<const store*>& among) {
  return among[among.size() == 1 ? 0 : decides_.pick(static_cast<std::uint32_t>(among.size()))];
}

bits execution::load(detail::cell of, std::memory_order order, source_line where) {
  order = order_at(where, operation::load, order);
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, me().clock);
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    const model::store& from = *at.order[p];
    if (p + 1 < at.order.size() && is_repeated(at, from) && !readable_.empty()) continue;
    if (is_permitted(at, order, &from, nullptr)) readable_.push_back(&from);
  }
  const model::store& from = *pick_store(readable_);
  read_from(at, from, order, now);
  if (is_seq_cst(order)) note_seq_cst(at, now, &from, nullptr);
  happened(loaded, mix(at.name, from.identity));
  if (traced_)
    tell(where, "loads ", describe(at), " → ", describe(from.value), order_name(order),
         remark_on_read(at, from));
  return from.value;
}

void execution::write(detail::cell of, bits value, std::memory_order order, source_line where) {
  order = order_at(where, operation::store, order);
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, me().clock);
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    if (is_bound(at, p)) continue;
    if (is_permitted(at, order, nullptr, at.order[p])) readable_.push_back(at.order[p]);
  }
  const model::store& behind = *pick_store(readable_);
  const model::store& made = write_behind(at, behind, value, order, now, nullptr);
  if (traced_)
    tell(where, "stores ", describe(at), " = ", describe(value), order_name(order),
         remark_on_store(at, made));
}

// Changing it again and again, where all others have moved on, leads nowhere either.
bool execution::is_left_behind(const location& at) {
  for (const repeated_read& each : me().last_reads) {
    if (each.at == &at) return each.behind > 1;
  }
  return false;
}

bits execution::change(detail::cell of, detail::change how, bits operand, std::memory_order order,
                       source_line where) {
  order = order_at(where, operation::change, order);
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, me().clock);
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    if (is_bound(at, p)) continue;
    if (!readable_.empty() && is_left_behind(at)) break;
    const model::store* const from = at.order[p];
    if (is_permitted(at, order, from, from)) readable_.push_back(from);
  }
  const model::store& from = *pick_store(readable_);
  read_from(at, from, order, now);
  const bits after = changed(how, from.value, operand, at.bytes);
  const bool is_newest = from.position + 1 == at.order.size();
  for (repeated_read& each : me().last_reads) {
    if (each.at == &at) each.behind = is_newest ? 0 : each.behind + 1;
  }
  const model::store& made = write_behind(at, from, after, order, now, &from);
  if (traced_)
    tell(where, "changes ", describe(at), ": ", describe(from.value), " → ", describe(after),
         order_name(order), remark_on_store(at, made));
  return from.value;
}

bool execution::compare_exchange(detail::cell of, bits& expected, bits desired,
                                 std::memory_order success, std::memory_order failing, bool weak,
                                 source_line where) {
  success = order_at(where, operation::change, success);
  failing = order_at(where, operation::failure, failing);
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, me().clock);
  const auto consider = [&](const model::store& from, bool succeeds) {
    const model::store* const behind = succeeds ? &from : nullptr;
    if (is_permitted(at, succeeds ? success : failing, &from, behind)) readable_.push_back(&from);
  };
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    const model::store& from = *at.order[p];
    if (from.value == expected) {
      if (!is_bound(at, p)) consider(from, true);
    } else if (p + 1 == at.order.size() || !is_repeated(at, from) || readable_.empty()) {
      consider(from, false);
    }
  }
  const std::size_t spurious_from = readable_.size();  // equal, but fails without a reason
  if (weak && spurious_left_ > 0) {
    for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
      if (at.order[p]->value == expected) consider(*at.order[p], false);
    }
  }
  const std::size_t picked =
      readable_.size() == 1 ? 0 : decides_.pick(static_cast<std::uint32_t>(readable_.size()));
  const model::store& from = *readable_[picked];
  const bool is_spurious = picked >= spurious_from;
  if (from.value == expected && !is_spurious) {
    read_from(at, from, success, now);
    const model::store& made = write_behind(at, from, desired, success, now, &from);
    if (traced_)
      tell(where, "changes ", describe(at), ": ", describe(from.value), " → ", describe(desired),
           order_name(success), remark_on_store(at, made));
    return true;
  }
  if (is_spurious) --spurious_left_;
  read_from(at, from, failing, now);
  if (is_seq_cst(failing)) note_seq_cst(at, now, &from, nullptr);
  happened(failed_to_change, mix(at.name, mix(from.identity, is_spurious)));
  if (traced_)
    tell(where, "fails to change ", describe(at), ": it is ", describe(from.value), ", not ",
         describe(expected), order_name(failing),
         is_spurious ? "   (spurious)" : remark_on_read(at, from));
  expected = from.value;
  return false;
}

std::string execution::remark_on_read(const location& at, const store& from) const {
  if (from.position + 1 == at.order.size()) return {};
  return "   (stale: the newest is " + describe(at.order.back()->value) + ")";
}

std::string execution::remark_on_store(const location& at, const store& made) {
  if (made.position + 1 == at.order.size()) return {};
  return "   (before the newest in modification order)";
}

}  // namespace troupe::model
