# SPDX-License-Identifier: Apache-2.0

# find_package(<package> [v]). If it fails, a message says how to get the package and how to build
# without it.
#
#   troupe_require(<package> [VERSION v] [COMPONENTS c...] DEBIAN <debian-package>...
#                  [SWITCH option])
macro(troupe_require package)
  cmake_parse_arguments(troupe_require "" "VERSION;SWITCH" "DEBIAN;COMPONENTS" ${ARGN})
  set(troupe_require_parts)
  if(troupe_require_COMPONENTS)
    set(troupe_require_parts COMPONENTS ${troupe_require_COMPONENTS})
  endif()
  find_package(${package} ${troupe_require_VERSION} QUIET GLOBAL ${troupe_require_parts})
  if(NOT ${package}_FOUND)
    troupe_report_missing("${package} ${troupe_require_VERSION}" "${troupe_require_DEBIAN}"
                          "${troupe_require_SWITCH}" "${${package}_NOT_FOUND_MESSAGE}")
  endif()
endmacro()

function(troupe_report_missing package debian switch reason)
  string(STRIP "${package}" package)
  list(JOIN debian " " debian)
  string(CONCAT text "${package} was not found.\n"
                     "  On Debian 12 it is in: ${debian} (scripts/install-dependencies installs it).\n"
                     "  Elsewhere, add its prefix to CMAKE_PREFIX_PATH.\n")
  if(switch)
    string(APPEND text "  To build without it: -D${switch}=OFF.\n")
  endif()
  message(FATAL_ERROR "${text}${reason}")
endfunction()
