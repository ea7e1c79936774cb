# SPDX-License-Identifier: Apache-2.0
# The simulation tests of an example.
#
#   troupe_add_simulation_test(<example> [SOURCES <file>...] LIBRARIES <library>...
#                              PLANT <file> FROM <text> TO <text>)
#
# Creates <example>_simulation_test from simulation_test.cpp and SOURCES, and <example>_planted_test
# from a copy of the example's files with a bug: in the file PLANT, the text FROM is replaced by TO.
# TROUPE_PLANTED_BUG is defined there.
function(troupe_add_simulation_test example)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PLANT;FROM;TO" "SOURCES;LIBRARIES")
  if(NOT TROUPE_ONE_THREAD_TESTS)
    return()
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/planted)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.hpp)
  set(copies)
  foreach(file IN LISTS headers arg_SOURCES ITEMS simulation_test.cpp)
    if(file STREQUAL arg_PLANT)
      add_custom_command(
        OUTPUT ${folder}/${file}
        COMMAND ${CMAKE_COMMAND} -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/${file}
                -D OUTPUT=${folder}/${file} "-D FROM=${arg_FROM}" "-D TO=${arg_TO}"
                -P ${PROJECT_SOURCE_DIR}/cmake/planting.cmake
        DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/planting.cmake
        VERBATIM)
    else()
      configure_file(${file} ${folder}/${file} COPYONLY)
    endif()
    list(APPEND copies ${folder}/${file})
  endforeach()

  add_executable(${example}_simulation_test simulation_test.cpp ${arg_SOURCES})
  set(programs ${example}_simulation_test)
  if(TROUPE_PLANTED_TESTS)
    add_executable(${example}_planted_test ${copies})
    target_compile_definitions(${example}_planted_test PRIVATE TROUPE_PLANTED_BUG)
    list(APPEND programs ${example}_planted_test)
  endif()
  foreach(program IN LISTS programs)
    target_link_libraries(${program} PRIVATE ${arg_LIBRARIES} test_main)
    target_compile_options(${program} PRIVATE ${TROUPE_TEST_FLAGS})
    troupe_add_gtest(${program} PREFIX simulation LABELS simulation TIMEOUT 300 COST 100)
  endforeach()
endfunction()
