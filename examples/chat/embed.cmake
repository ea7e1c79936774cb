# SPDX-License-Identifier: Apache-2.0
# cmake -D OUTPUT=page.cpp -D FILES=a;b -P embed.cmake: defines chat::page() with the files' bytes.
set(types
  html "text/html; charset=utf-8"
  css "text/css; charset=utf-8"
  js "text/javascript; charset=utf-8"
  svg "image/svg+xml")
set(text "#include \"page.hpp\"\n\nnamespace chat {\nnamespace {\n\n")
set(table "")
set(number 0)
foreach(file IN LISTS FILES)
  cmake_path(GET file FILENAME name)
  cmake_path(GET file EXTENSION LAST_ONLY extension)
  string(SUBSTRING "${extension}" 1 -1 extension)
  list(FIND types "${extension}" at)
  if(at LESS 0)
    message(FATAL_ERROR "${name}: no content type is known for .${extension}; add it to embed.cmake")
  endif()
  math(EXPR at "${at} + 1")
  list(GET types ${at} type)
  if(name STREQUAL "index.html")
    set(name "")
  endif()
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND text "constexpr char file_${number}[] = {${bytes}};\n")
  string(APPEND table "      {\"/${name}\", \"${type}\", {file_${number}, sizeof file_${number}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "\n}  // namespace\n\nstd::span<const page_file> page() {\n"
  "  static constexpr page_file files[] = {\n${table}  };\n  return files;\n}\n\n}  // namespace chat\n")
file(WRITE ${OUTPUT} "${text}")
