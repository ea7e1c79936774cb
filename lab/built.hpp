// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace troupe::lab::built {

/// How this program was built; CMake (lab/built.cpp.in) and lab/commit.cmake write the values.
extern const char* const flags;          ///< of the lab
extern const char* const library_flags;  ///< of Troupe
extern const char* const engine_flags;   ///< of other engines in C++: a line with name and flags
extern const char* const version;

/// Locations relative to the folder of this program, so that the program does not depend on the
/// folder in which it was built.
std::string source();   ///< the whole source tree
std::string engines();  ///< the folder lab/engines
std::string cache();    ///< where other engines are built
std::string floor();    ///< the program of lab/engines/floor

/// The short name of the commit, with "-dirty" if files differ from it; "unknown" without git.
const char* commit();

}  // namespace troupe::lab::built
