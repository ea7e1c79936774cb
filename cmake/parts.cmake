# SPDX-License-Identifier: Apache-2.0
# Creates libraries, tests and benchmarks from folders. In src/<layer>/
#
#   *_test.cpp     all of these form one GoogleTest program, <layer>_test, together with
#                  those in contract/, which test the layer as a whole
#   *_bench.cpp    each is one program; a test runs it with --smoke
#   any other .cpp belongs to the library
#
# If TROUPE_STANDS_IN_<layer> names a folder in there, its files replace those of the same name, or
# are added. TROUPE_WITHOUT_<layer> names files to leave out, and TROUPE_TESTS_LEFT_OUT_<layer>
# names such tests.

set(TROUPE_LAYERS_BELOW_ACTORS base sync memory time message mailbox scheduler)

# troupe_find_sources(<result> <layer> <pattern>): the files of a layer.
function(troupe_find_sources result layer pattern)
  set(folder ${PROJECT_SOURCE_DIR}/src/${layer})
  file(GLOB found CONFIGURE_DEPENDS ${folder}/${pattern})
  if(TROUPE_STANDS_IN_${layer})
    file(GLOB instead CONFIGURE_DEPENDS ${folder}/${TROUPE_STANDS_IN_${layer}}/${pattern})
    set(without ${TROUPE_WITHOUT_${layer}})
    foreach(file IN LISTS instead)
      cmake_path(GET file FILENAME name)
      list(APPEND without ${name})
    endforeach()
    list(TRANSFORM without PREPEND ${folder}/)
    list(REMOVE_ITEM found ${without})
    list(APPEND found ${instead})
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Creates the library troupe::<part>, and the tests and benchmarks of its layers.
#
#   troupe_add_part(<part> LAYERS <layer>... [UMBRELLA <header>] [PUBLIC <library>...]
#                   [PRIVATE <library>...] [DEFINITIONS <definition>...] [PRECOMPILED <header>...]
#                   [ALONE <file>...] [UNGROUPED])
#
# DEFINITIONS also apply to users of the part. Files must include PRECOMPILED headers all the same.
# ALONE: the names of files that are never compiled in a group; see unity.cmake. UNGROUPED: no file
# is.
function(troupe_add_part part)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNGROUPED" "UMBRELLA" "LAYERS;PUBLIC;PRIVATE;DEFINITIONS;PRECOMPILED;ALONE")
  set(sources)
  set(headers)
  if(arg_UMBRELLA)
    list(APPEND headers ${PROJECT_SOURCE_DIR}/include/${arg_UMBRELLA})
  endif()
  foreach(layer IN LISTS arg_LAYERS)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/troupe/${layer}/*.hpp
         ${PROJECT_SOURCE_DIR}/include/troupe/detail/${layer}/*.hpp)
    list(APPEND headers ${found})
    troupe_find_sources(found ${layer} *.cpp)
    list(FILTER found EXCLUDE REGEX "_(test|bench)\\.cpp$")
    list(APPEND sources ${found})
  endforeach()

  set(library troupe_${part})
  if(NOT arg_UNGROUPED)
    troupe_group_sources(sources ${library} ${arg_ALONE})
  endif()
  add_library(${library} ${sources})
  add_library(troupe::${part} ALIAS ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${part})
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_compile_definitions(${library} PUBLIC ${arg_DEFINITIONS})
  target_link_libraries(${library} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  target_sources(${library} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
  target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  troupe_precompile(${library} ${arg_PRECOMPILED})

  set_property(GLOBAL APPEND PROPERTY TROUPE_PARTS ${part})
  set_property(GLOBAL APPEND PROPERTY TROUPE_LAYERS ${arg_LAYERS})

  if(TROUPE_TESTS)
    troupe_add_layer_tests(${part} ${arg_LAYERS})
  endif()
  if(TROUPE_BENCHMARKS)
    troupe_add_layer_benchmarks(${part} ${arg_LAYERS})
  endif()
endfunction()

# troupe_leave_out_one_thread(<list>): removes the files that cannot create a second thread, judging
# by the names in them.
function(troupe_leave_out_one_thread list)
  set(left)
  foreach(file IN LISTS ${list})
    file(STRINGS ${file} found LIMIT_COUNT 1
         REGEX "thread|system|spawn|worker|io_context|async|server|application")
    if(found)
      list(APPEND left ${file})
    endif()
  endforeach()
  set(${list} ${left} PARENT_SCOPE)
endfunction()

# troupe_add_gtest(<program> PREFIX <prefix> [LABELS <label>...] [PARTS <count>] [TIMEOUT <seconds>]
#                  [COST <seconds>] [LEFT_OUT <test>...])
#
# Each TEST(subject, promise) becomes the test <prefix>.subject.promise, in a process of its own.
# With TROUPE_COARSE_TESTS the program becomes as many tests as it has parts,
# <prefix>.<program>.<part>. The watchdog of test_main names a test that does not end.
function(troupe_add_gtest program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;PARTS;TIMEOUT;COST" "LABELS;LEFT_OUT")
  set(filter)
  if(arg_LEFT_OUT)
    list(JOIN arg_LEFT_OUT ":" filter)
    set(filter "-${filter}")
  endif()
  set(properties LABELS "${arg_LABELS}")
  if(arg_TIMEOUT)
    list(APPEND properties TIMEOUT ${arg_TIMEOUT})
  endif()
  # Expensive tests begin first, so that none of them runs alone at the end.
  if(arg_COST)
    list(APPEND properties COST ${arg_COST})
  endif()
  if(NOT TROUPE_COARSE_TESTS)
    include(GoogleTest)
    gtest_discover_tests(${program} TEST_FILTER "${filter}" TEST_PREFIX ${arg_PREFIX}. DISCOVERY_MODE PRE_TEST
                         PROPERTIES ${properties})
    return()
  endif()
  if(NOT arg_PARTS)
    set(arg_PARTS 1)
  endif()
  if(filter)
    set(filter --gtest_filter=${filter})
  endif()
  math(EXPR last "${arg_PARTS} - 1")
  foreach(part RANGE ${last})
    set(name ${arg_PREFIX}.${program}.${part})
    add_test(NAME ${name} COMMAND ${program} --gtest_brief=1 ${filter})
    # The watchdog limits the time of each test.
    set_tests_properties(${name} PROPERTIES TIMEOUT 1200 ${properties}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_PARTS};GTEST_SHARD_INDEX=${part}")
  endforeach()
endfunction()

# troupe_precompile_tests(<program> below_actors|from_actors_on): two precompiled headers for the
# tests of all layers.
#
# They save a third of the time to compile a test and, from the layer of actors on, whose tests
# include all of the core, another tenth. They do not pay for Asio and Beast: few files use much of
# them, and with a precompiled header GCC warns about their internals.
function(troupe_precompile_tests program kind)
  # A separate target, because users of the header wait for the whole target that it belongs to.
  set(owner test_headers_${kind})
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/${owner}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${owner} OBJECT ${source})
    target_link_libraries(${owner} PRIVATE troupe::core GTest::gmock)
    target_compile_options(${owner} PRIVATE ${TROUPE_TEST_FLAGS})
    set(headers <gmock/gmock.h> <gtest/gtest.h>)
    if(kind STREQUAL "below_actors")
      list(APPEND headers <chrono> <functional> <thread>)
    else()
      list(APPEND headers <troupe/troupe.hpp>)
    endif()
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_precompile_headers(${program} REUSE_FROM ${owner})
endfunction()

# troupe_add_layer_tests(<part> <layer>...): each TEST(subject, promise) of a layer becomes the test
# <layer>.subject.promise.
function(troupe_add_layer_tests part)
  foreach(layer IN LISTS ARGN)
    troupe_find_sources(sources ${layer} *_test.cpp)
    troupe_find_sources(contract ${layer} contract/*_test.cpp)
    list(APPEND sources ${contract})
    if(NOT TROUPE_ONE_THREAD_TESTS)
      troupe_leave_out_one_thread(sources)
    endif()
    if(NOT sources)
      continue()
    endif()
    set(program ${layer}_test)
    set(files ${sources})
    troupe_group_tests(sources ${program})
    add_executable(${program} ${sources})
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${program} PRIVATE troupe::${part} test_main)
    target_compile_options(${program} PRIVATE ${TROUPE_TEST_FLAGS})
    if(layer IN_LIST TROUPE_LAYERS_BELOW_ACTORS)
      troupe_precompile_tests(${program} below_actors)
    else()
      troupe_precompile_tests(${program} from_actors_on)
    endif()
    list(LENGTH files size)
    math(EXPR parts "(${size} + 9) / 10")
    troupe_add_gtest(${program} PREFIX ${layer} LABELS ${layer} PARTS ${parts} COST 20
                     LEFT_OUT ${TROUPE_TESTS_LEFT_OUT_${layer}})
  endforeach()
endfunction()

# troupe_add_layer_benchmarks(<part> <layer>...)
function(troupe_add_layer_benchmarks part)
  foreach(layer IN LISTS ARGN)
    troupe_find_sources(sources ${layer} *_bench.cpp)
    foreach(source IN LISTS sources)
      cmake_path(GET source STEM program)
      add_executable(${program} ${source})
      target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src)
      target_link_libraries(${program} PRIVATE troupe::${part})
      # Measured code is built without tests, by the preset bench.
      target_compile_options(${program} PRIVATE ${TROUPE_TEST_FLAGS})
      if(TROUPE_TESTS)
        add_test(NAME ${program}.smoke COMMAND ${program} --smoke)
        set_tests_properties(${program}.smoke PROPERTIES LABELS "smoke;${layer}")
      endif()
    endforeach()
  endforeach()
endfunction()

# Adds every <folder>/*/ that has a CMakeLists.txt.
function(troupe_add_subdirectories folder)
  file(GLOB lists CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*/CMakeLists.txt)
  foreach(list IN LISTS lists)
    cmake_path(GET list PARENT_PATH path)
    add_subdirectory(${path})
  endforeach()
endfunction()

# Without this check, a folder that no part names would be left out silently.
function(troupe_check_folders)
  get_property(layers GLOBAL PROPERTY TROUPE_LAYERS)
  if(NOT TROUPE_NET)
    list(APPEND layers net)
  endif()
  if(NOT TROUPE_HTTP)
    list(APPEND layers http)
  endif()
  if(NOT TROUPE_LUA)
    list(APPEND layers lua)
  endif()
  if(NOT TROUPE_SERVER)
    list(APPEND layers server)
  endif()
  file(GLOB folders CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/* ${PROJECT_SOURCE_DIR}/include/troupe/*
       ${PROJECT_SOURCE_DIR}/include/troupe/detail/*)
  foreach(folder IN LISTS folders)
    cmake_path(GET folder FILENAME layer)
    if(IS_DIRECTORY ${folder} AND NOT layer IN_LIST layers
       AND NOT folder STREQUAL ${PROJECT_SOURCE_DIR}/include/troupe/detail)
      message(FATAL_ERROR "${folder} is in no part: name it in ${PROJECT_SOURCE_DIR}/CMakeLists.txt.")
    endif()
  endforeach()
endfunction()
