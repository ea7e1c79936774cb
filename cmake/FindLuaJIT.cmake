# SPDX-License-Identifier: Apache-2.0
# LuaJIT 2.1. Defines LuaJIT::LuaJIT.
#
# Debian has it in libluajit-5.1-dev. Its errors unwind the frames in between, like those of Lua
# compiled as C++: it throws through the system's unwinder, on x64 and arm64.
find_path(LuaJIT_INCLUDE_DIR luajit.h PATH_SUFFIXES luajit-2.1)
find_library(LuaJIT_LIBRARY NAMES luajit-5.1 luajit)

set(LuaJIT_VERSION)
if(LuaJIT_INCLUDE_DIR AND EXISTS ${LuaJIT_INCLUDE_DIR}/luajit.h)
  file(STRINGS ${LuaJIT_INCLUDE_DIR}/luajit.h line REGEX "^#define[ \t]+LUAJIT_VERSION[ \t]+\"")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" LuaJIT_VERSION "${line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LuaJIT REQUIRED_VARS LuaJIT_LIBRARY LuaJIT_INCLUDE_DIR
                                  VERSION_VAR LuaJIT_VERSION)
mark_as_advanced(LuaJIT_INCLUDE_DIR LuaJIT_LIBRARY)
if(LuaJIT_FOUND AND NOT TARGET LuaJIT::LuaJIT)
  add_library(LuaJIT::LuaJIT UNKNOWN IMPORTED)
  set_target_properties(LuaJIT::LuaJIT PROPERTIES IMPORTED_LOCATION ${LuaJIT_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${LuaJIT_INCLUDE_DIR})
endif()
