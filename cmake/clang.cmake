# SPDX-License-Identifier: Apache-2.0
# A toolchain file: Clang 16, or the system's Clang if that is version 16 or later.
find_program(TROUPE_CLANG NAMES clang++-16 clang++ REQUIRED)
set(CMAKE_CXX_COMPILER ${TROUPE_CLANG})

execute_process(COMMAND ${TROUPE_CLANG} -dumpversion OUTPUT_VARIABLE version
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(version VERSION_LESS 16)
  message(FATAL_ERROR "${TROUPE_CLANG} is Clang ${version}; Clang 16 or later is needed "
                      "(on Debian 12: clang-16, from scripts/install-dependencies ci).")
endif()
