# SPDX-License-Identifier: Apache-2.0
# Compile options for everything in this project, also if another project includes it.

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_COMPILE_WARNING_AS_ERROR ${TROUPE_WERROR})

add_compile_options(-Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of "literal" + std::string under optimisation: https://gcc.gnu.org/PR105651.
  add_compile_options(-Wno-restrict)
endif()

# troupe_precompile(<target> <header>...): for targets that are not tests; TROUPE_PRECOMPILE turns
# it on.
function(troupe_precompile target)
  if(TROUPE_PRECOMPILE AND ARGN)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # With a precompiled header, GCC 12 warns about the internals of std::string, because of the
      # same bug as above, for "literal" + std::string.
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
    endif()
  endif()
endfunction()

# troupe_from_bin(<variable> <path>): the path relative to the folder of the programs. A program
# that contains only such paths is the same in every clone.
function(troupe_from_bin variable path)
  if(CMAKE_RUNTIME_OUTPUT_DIRECTORY)
    file(RELATIVE_PATH path ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${path})
  endif()
  set(${variable} ${path} PARENT_SCOPE)
endfunction()

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
  endif()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

  # Compiled code does not depend on the folder. Two clones build the same binaries, and a fresh
  # clone finds the results of another one in the compiler cache.
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

  find_program(TROUPE_CCACHE ccache)
  mark_as_advanced(TROUPE_CCACHE)
  if(TROUPE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_CURRENT_LIST_DIR}/cached-compiler.sh ${PROJECT_SOURCE_DIR} ${TROUPE_CCACHE})
  endif()
endif()
