# SPDX-License-Identifier: Apache-2.0
# Tests that run the program of an example.
#
#   troupe_add_example_test(<name> <program> [ARGUMENTS <argument>...]
#                           WRITES <regular expression>... [TIMEOUT <seconds>])
#
# The test passes if the program exits with 0 and its output matches all of the expressions.
# (PASS_REGULAR_EXPRESSION would ignore the exit code, and require only one of its expressions.)
function(troupe_add_example_test name program)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "ARGUMENTS;WRITES")
  set(expected)
  set(count 0)
  foreach(expression IN LISTS arg_WRITES)
    string(REPLACE ";" "\\;" expression "${expression}")
    list(APPEND expected "-DEXPECTED_${count}=${expression}")
    math(EXPR count "${count} + 1")
  endforeach()
  if(count EQUAL 0)
    message(FATAL_ERROR "${name}: say what the program WRITES")
  endif()
  add_test(NAME ${name}
           COMMAND ${CMAKE_COMMAND} ${expected} -P ${PROJECT_SOURCE_DIR}/cmake/run_and_match.cmake
                   -- $<TARGET_FILE:${program}> ${arg_ARGUMENTS})
  if(arg_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()
