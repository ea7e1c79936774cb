// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::lab::built {

/// How this program was built; CMake and lab/built.cmake write the values.
extern const char* const flags;
extern const char* const version;
extern const char* const source;   ///< the whole tree
extern const char* const engines;  ///< the folder lab/engines
extern const char* const cache;    ///< where other engines are built
extern const char* const floor;    ///< the program of lab/engines/floor

/// The short name of the commit, with "-dirty" if files differ from it; "unknown" without git.
const char* commit();

}  // namespace troupe::lab::built
