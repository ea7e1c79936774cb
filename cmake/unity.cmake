# SPDX-License-Identifier: Apache-2.0
# Compiles files in groups of up to about ten. Most of the time to compile a file is spent on
# headers, and for a test on templates, that all of them use; a group needs them once.
# TROUPE_COARSE_TESTS turns this on; a change then compiles a whole group.
#
#   troupe_group_tests(<list> <name>): replaces the files in the list by the groups made of them.
#   troupe_group_sources(<list> <name> [<file>...]): the same for the files of a library, by folder,
#     without those of these names.
#
# A test file's unnamed namespace is put into a namespace that only this file has, so equal names in
# two files do not collide. A test file is compiled alone if it is not entirely in one such
# namespace, or if it compares the names of types. The unnamed namespaces of a library's files stay
# as they are. If two files of a group have the same name there, one of the files has to be compiled
# alone.

if(CMAKE_SCRIPT_MODE_FILE)
  # cmake -D OUTPUT=<file> -D FROM=<folder in which the compiler runs> -D AS_IT_IS=<bool>
  #       -P unity.cmake -- <file>...
  set(text)
  set(is_file FALSE)
  math(EXPR last "${CMAKE_ARGC} - 1")
  foreach(i RANGE ${last})
    set(file "${CMAKE_ARGV${i}}")
    if(file STREQUAL "--")
      set(is_file TRUE)
    elseif(is_file)
      cmake_path(GET file STEM name)
      # Relative, so that the group is the same in every clone, and the compiler cache can find the
      # file.
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${FROM}" OUTPUT_VARIABLE shown)
      file(READ "${file}" content)
      if(NOT AS_IT_IS)
        string(REPLACE "\nnamespace {\n" "\nnamespace in_${name} { namespace {\n" content "${content}")
        string(REPLACE "\n}  // namespace\n" "\n} }  // namespace\n" content "${content}")
      endif()
      string(APPEND text "#line 1 \"${shown}\"\n${content}")
    endif()
  endforeach()
  file(WRITE "${OUTPUT}" "${text}")
  return()
endif()

set(TROUPE_UNITY_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(troupe_group_tests list name)
  if(NOT TROUPE_COARSE_TESTS)
    return()
  endif()
  set(alone)
  set(together)
  foreach(file IN LISTS ${list})
    file(READ ${file} content)
    file(STRINGS ${file} unnamed REGEX "^namespace {$")
    list(LENGTH unnamed unnamed)
    if(unnamed EQUAL 1 AND content MATCHES "\n}  // namespace\n(\n|}  // namespace [^\n]*\n)*$"
       AND NOT content MATCHES "\\(anonymous namespace\\)")
      list(APPEND together ${file})
    else()
      list(APPEND alone ${file})
    endif()
  endforeach()

  troupe_make_groups(${name} FALSE 12 together)
  set(${list} ${alone} ${together} PARENT_SCOPE)
endfunction()

function(troupe_group_sources list name)
  if(NOT TROUPE_COARSE_TESTS)
    return()
  endif()
  set(alone)
  set(folders)
  foreach(file IN LISTS ${list})
    cmake_path(GET file FILENAME short)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    if(short IN_LIST ARGN)
      list(APPEND alone ${file})
    else()
      list(APPEND folders ${folder})
      list(APPEND in_${folder} ${file})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    # Files of different folders may include different headers of the same name.
    troupe_make_groups(${name}_${folder} TRUE 8 in_${folder})
    list(APPEND alone ${in_${folder}})
  endforeach()
  set(${list} ${alone} PARENT_SCOPE)
endfunction()

# troupe_make_groups(<name> <as it is> <files in a group> <list>): replaces the files in the list.
function(troupe_make_groups name as_it_is most list)
  set(together ${${list}})
  set(alone)
  set(outputs)
  # A file's group depends on its name and on a power of two. So a new file changes one group, and
  # the compiler cache still has the others.
  list(LENGTH together files)
  set(groups 1)
  while(files GREATER ${most})
    math(EXPR groups "${groups} * 2")
    math(EXPR files "${files} / 2")
  endwhile()
  foreach(file IN LISTS together)
    cmake_path(GET file FILENAME key)
    string(MD5 key ${key})
    string(SUBSTRING ${key} 0 4 key)
    math(EXPR group "0x${key} % ${groups}")
    list(APPEND group_${group} ${file})
  endforeach()

  math(EXPR last "${groups} - 1")
  foreach(group RANGE ${last})
    list(LENGTH group_${group} size)
    if(size LESS 2)
      list(APPEND alone ${group_${group}})
      continue()
    endif()
    set(output ${PROJECT_BINARY_DIR}/unity/${name}_${group}.cpp)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -D OUTPUT=${output} -D FROM=${PROJECT_BINARY_DIR}
              -D AS_IT_IS=${as_it_is} -P ${TROUPE_UNITY_SCRIPT} -- ${group_${group}}
      DEPENDS ${group_${group}} ${TROUPE_UNITY_SCRIPT}
      VERBATIM)
    # For the headers in a file's own folder, and for paths that are the same as without groups.
    cmake_path(RELATIVE_PATH PROJECT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE root)
    set(options -ffile-prefix-map=${root}/=)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC takes the unnamed namespaces of a group for those of a header.
      list(APPEND options -Wno-subobject-linkage)
    endif()
    foreach(file IN LISTS group_${group})
      cmake_path(GET file PARENT_PATH folder)
      list(APPEND options "-iquote${folder}")
    endforeach()
    list(REMOVE_DUPLICATES options)
    set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS "${options}")
    list(APPEND alone ${output})
    list(APPEND outputs ${output})
  endforeach()
  if(outputs)
    # A command waits for the dependencies of all targets that use it. With this target, it has
    # none.
    add_custom_target(${name}_groups DEPENDS ${outputs})
  endif()
  set(${list} ${alone} PARENT_SCOPE)
endfunction()
