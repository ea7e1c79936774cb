// SPDX-License-Identifier: Apache-2.0
#include <troupe/supervision/worker_routes.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/spawn_options.hpp>

namespace troupe::detail {

namespace {

// The actor that stands for a router. It receives no messages, because they go to the workers;
// references to the router refer to its slot.
class router_seat final : public actor {};

// The finaliser of SplitMix64: it maps neighbouring numbers to distant ones.
std::size_t mixed(std::size_t key) noexcept {
  std::uint64_t x = key;
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebULL;
  return static_cast<std::size_t>(x ^ (x >> 31));
}

// Up to this number of workers, all of them are compared.
constexpr std::size_t few = 8;

}  // namespace

worker_routes::worker_routes(std::vector<control_block*> workers) noexcept
    : workers_(std::move(workers)) {
  for (control_block* const each : workers_) each->hold();
}

worker_routes::~worker_routes() {
  for (control_block* const each : workers_) each->let_go();
}

std::size_t worker_routes::living() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(workers_.begin(), workers_.end(),
                    [](const control_block* w) { return !w->is_closed_behind(); }));
}

bool worker_routes::any_is_left() const noexcept { return living_from(0) != nullptr; }

std::uint32_t worker_routes::least_load() const noexcept {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const control_block* const each : workers_) {
    if (!each->is_closed_behind()) least = std::min(least, each->load_behind());
  }
  return least;
}

control_block* worker_routes::living_from(std::size_t at) const noexcept {
  const std::size_t count = workers_.size();
  for (std::size_t i = 0; i < count; ++i) {
    control_block* const each = workers_[(at + i) % count];
    if (!each->is_closed_behind()) return each;
  }
  return nullptr;
}

// The keys of a terminated worker are spread by rehashing; they do not all move to its neighbour.
control_block* worker_routes::by_key(std::size_t hash) const noexcept {
  for (int i = 0; i < 4; ++i) {
    hash = mixed(hash + 0x9e37'79b9'7f4a'7c15ULL);
    control_block* const each = workers_[hash % workers_.size()];
    if (!each->is_closed_behind()) return each;
  }
  return living_from(hash);
}

control_block* in_turns::choose(const envelope&) const noexcept { return living_from(next()); }

control_block* to_the_least_loaded::choose(const envelope&) const noexcept {
  const std::size_t from = next();
  const std::size_t count = all().size();
  if (count > few) {
    // Mitzenmacher, «The Power of Two Choices in Randomized Load Balancing», 2001.
    const std::size_t random = mixed(from);
    const std::size_t first = random % count;
    control_block* const one = living_from(first);
    control_block* const other = living_from(first + 1 + (random >> 32) % (count - 1));
    if (one == nullptr || other == nullptr) return one;  // the last worker may terminate in between
    return one->load_behind() <= other->load_behind() ? one : other;
  }
  control_block* least = nullptr;
  std::uint32_t load = 0;
  for (std::size_t i = 0; i < count; ++i) {
    control_block* const each = all()[(from + i) % count];
    if (each->is_closed_behind()) continue;
    const std::uint32_t its = each->load_behind();
    if (least != nullptr && its >= load) continue;
    least = each;
    load = its;
    if (load == 0) break;
  }
  return least;
}

void check_workers(std::size_t count, bool are_alike) {
  if (count == 0) throw std::invalid_argument("troupe: a router needs at least one worker");
  if (!are_alike) {
    throw std::invalid_argument(
        "troupe: the workers of a router must be actors of the same class, and no reference may be "
        "empty");
  }
}

control_block* spawn_router(system& in, std::shared_ptr<const routes> by) {
  const spawn_options options{.name = "a router", .on_full = overload_access::route(std::move(by))};
  const ref<router_seat> seat = in.spawn<router_seat>(options);
  control_block& block = ref_access::block(seat);
  block.hold();
  return &block;
}

}  // namespace troupe::detail
