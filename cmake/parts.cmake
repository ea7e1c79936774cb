# SPDX-License-Identifier: Apache-2.0
# Makes libraries, tests and benchmarks out of folders. In src/<layer>/
#
#   *_test.cpp     together are one GoogleTest program, <layer>_test
#   *_bench.cpp    each is one program; a test runs it with --smoke
#   any other .cpp belongs to the library
#
# Where TROUPE_STANDS_IN_<layer> names a folder in there, its files stand in for those of the same name, or are there
# besides; and those that TROUPE_WITHOUT_<layer> names are left out, as are the tests of TROUPE_TESTS_LEFT_OUT_<layer>.

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

# Makes the library troupe::<part>, and the tests and benchmarks of its layers.
#
#   troupe_add_part(<part> LAYERS <layer>... [UMBRELLA <header>] [PUBLIC <library>...]
#                   [PRIVATE <library>...] [DEFINITIONS <definition>...] [PRECOMPILED <header>...])
#
# DEFINITIONS hold for the users of the part too. What is PRECOMPILED its files include all the same.
function(troupe_add_part part)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "UMBRELLA" "LAYERS;PUBLIC;PRIVATE;DEFINITIONS;PRECOMPILED")
  set(sources)
  set(headers)
  if(arg_UMBRELLA)
    list(APPEND headers ${PROJECT_SOURCE_DIR}/include/${arg_UMBRELLA})
  endif()
  foreach(layer IN LISTS arg_LAYERS)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/troupe/${layer}/*.hpp)
    list(APPEND headers ${found})
    troupe_find_sources(found ${layer} *.cpp)
    list(FILTER found EXCLUDE REGEX "_(test|bench)\\.cpp$")
    list(APPEND sources ${found})
  endforeach()

  set(library troupe_${part})
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

# troupe_leave_out_one_thread(<list>): of these files those that name nothing which could make a second thread.
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

# troupe_add_layer_tests(<part> <layer>...): each TEST(subject, promise) of a layer becomes the test
# <layer>.subject.promise.
function(troupe_add_layer_tests part)
  include(GoogleTest)
  set(first)
  set(precompiled)
  foreach(layer IN LISTS ARGN)
    troupe_find_sources(sources ${layer} *_test.cpp)
    if(NOT TROUPE_ONE_THREAD_TESTS)
      troupe_leave_out_one_thread(sources)
    endif()
    if(NOT sources)
      continue()
    endif()
    set(program ${layer}_test)
    add_executable(${program} ${sources})
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${program} PRIVATE troupe::${part} GTest::gmock_main)
    target_compile_options(${program} PRIVATE ${TROUPE_TEST_FLAGS})
    # A third off the time to compile a test, and from the layer of actors on, whose tests include all of the
    # core, another tenth. For Asio and Beast it does not pay: few files use much of them, and out of a
    # precompiled header GCC warns about their insides.
    if(layer IN_LIST TROUPE_LAYERS_BELOW_ACTORS)
      set(headers <gmock/gmock.h> <gtest/gtest.h> <chrono> <functional> <thread>)
    else()
      set(headers <gmock/gmock.h> <gtest/gtest.h> <troupe/troupe.hpp>)
    endif()
    if("${headers}" STREQUAL "${precompiled}")
      target_precompile_headers(${program} REUSE_FROM ${first})
    else()
      set(first ${program})
      set(precompiled "${headers}")
      target_precompile_headers(${program} PRIVATE ${headers})
    endif()
    set(left_out)
    if(TROUPE_TESTS_LEFT_OUT_${layer})
      list(JOIN TROUPE_TESTS_LEFT_OUT_${layer} ":" left_out)
      set(left_out TEST_FILTER "-${left_out}")
    endif()
    gtest_discover_tests(${program} ${left_out} TEST_PREFIX ${layer}. DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${layer})
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

# A folder that no part names would be left out without a word.
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
  file(GLOB folders CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/* ${PROJECT_SOURCE_DIR}/include/troupe/*)
  foreach(folder IN LISTS folders)
    cmake_path(GET folder FILENAME layer)
    if(IS_DIRECTORY ${folder} AND NOT layer IN_LIST layers)
      message(FATAL_ERROR "${folder} is in no part: name it in ${PROJECT_SOURCE_DIR}/CMakeLists.txt.")
    endif()
  endforeach()
endfunction()
