# SPDX-License-Identifier: Apache-2.0
# Copies a source file with a planted bug, to verify that the tests find it.
#
#   cmake -D SOURCE=<file> -D OUTPUT=<file> -D FROM=<text> -D TO=<text> -P planting.cmake
file(READ "${SOURCE}" text)
string(FIND "${text}" "${FROM}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${SOURCE}: the text that the bug takes the place of is not there: ${FROM}")
endif()
string(REPLACE "${FROM}" "${TO}" text "${text}")
file(WRITE "${OUTPUT}" "${text}")
