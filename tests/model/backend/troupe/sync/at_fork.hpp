// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {

/// Processes do not fork under the checker.
inline void at_fork(void (*)(), void (*)(), void (*)()) {}

}  // namespace troupe
