# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, which contains the commit. Runs with every build; the file is only modified when
# the commit has changed.
#
#   cmake -D SOURCE=folder -D OUTPUT=file -P commit.cmake
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "lab/built.hpp"

const char* troupe::lab::built::commit() { return "@commit@"; }
]] @ONLY)
