// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <troupe/actor/events.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/control_block.hpp>

// Declarations that the handles of actors share; the handles are in actor/ref.hpp.

namespace troupe {

template <class A>
class ref;
template <class A>
class self_ref;
template <class A>
class weak_ref;

namespace detail {

struct ref_access;
template <class Self, class A>
class typed_handle;

exit_reason join(control_block& block);
std::optional<exit_reason> join_until(control_block& block, time_point deadline);

}  // namespace detail

}  // namespace troupe
