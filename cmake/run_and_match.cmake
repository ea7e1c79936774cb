# SPDX-License-Identifier: Apache-2.0
# Runs a program, which must exit with 0 and whose output must match every EXPECTED_<n>, from 0 on.
#
#   cmake -D EXPECTED_0=<regular expression>... -P run_and_match.cmake -- <program> <argument>...
set(command)
set(is_command FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(is_command)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(is_command TRUE)
  endif()
endforeach()
if(NOT command OR NOT DEFINED EXPECTED_0)
  message(FATAL_ERROR "usage: cmake -D EXPECTED_0=<expression> -P run_and_match.cmake -- <program>")
endif()

execute_process(COMMAND ${command}
                RESULT_VARIABLE result OUTPUT_VARIABLE written ERROR_VARIABLE written
                ECHO_OUTPUT_VARIABLE ECHO_ERROR_VARIABLE)
set(i 0)
while(DEFINED EXPECTED_${i})
  if(NOT "${written}" MATCHES "${EXPECTED_${i}}")
    message(SEND_ERROR "no output matches: ${EXPECTED_${i}}")
  endif()
  math(EXPR i "${i} + 1")
endwhile()
if(NOT "${result}" STREQUAL "0")
  message(SEND_ERROR "the command exited with: ${result}")
endif()
