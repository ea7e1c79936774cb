# SPDX-License-Identifier: Apache-2.0
# Lua 5.4 compiled as C++, so that its errors are exceptions, which unwind the frames in between.
# Defines LuaCxx::LuaCxx.
#
# Debian has it in liblua5.4-dev. The same functions compiled as C have the same names. If they were
# linked by mistake, errors would leave by longjmp and skip destructors.
find_path(LuaCxx_INCLUDE_DIR lua.hpp PATH_SUFFIXES lua5.4 lua-5.4 lua54)
find_library(LuaCxx_LIBRARY NAMES lua5.4-c++ lua-5.4-c++ lua54-c++ lua++5.4)

set(LuaCxx_VERSION)
if(LuaCxx_INCLUDE_DIR AND EXISTS ${LuaCxx_INCLUDE_DIR}/lua.h)
  file(STRINGS ${LuaCxx_INCLUDE_DIR}/lua.h lines REGEX "^#define[ \t]+LUA_VERSION_(MAJOR|MINOR|RELEASE)[ \t]+\"")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "\"([0-9]+)\"" number "${line}")
    list(APPEND LuaCxx_VERSION ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN LuaCxx_VERSION "." LuaCxx_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LuaCxx REQUIRED_VARS LuaCxx_LIBRARY LuaCxx_INCLUDE_DIR
                                  VERSION_VAR LuaCxx_VERSION)
mark_as_advanced(LuaCxx_INCLUDE_DIR LuaCxx_LIBRARY)
if(LuaCxx_FOUND AND NOT TARGET LuaCxx::LuaCxx)
  add_library(LuaCxx::LuaCxx UNKNOWN IMPORTED)
  set_target_properties(LuaCxx::LuaCxx PROPERTIES IMPORTED_LOCATION ${LuaCxx_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${LuaCxx_INCLUDE_DIR})
endif()
