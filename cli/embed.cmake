# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a source that contains all files of FOLDER/<kind>/, so that they become part of the
# program.
#
#   cmake -D FOLDER=folder -D OUTPUT=file -P embed.cmake
file(GLOB kinds RELATIVE ${FOLDER} ${FOLDER}/*)
set(text "#include \"cli/application_files.hpp\"\n\nnamespace troupe::cli {\n\n")
string(APPEND text "std::vector<application_file> application_files(std::string_view kind) {\n")
foreach(kind IN LISTS kinds)
  string(APPEND text "  if (kind == \"${kind}\") {\n    return {\n")
  file(GLOB names RELATIVE ${FOLDER}/${kind} ${FOLDER}/${kind}/*)
  foreach(name IN LISTS names)
    file(READ ${FOLDER}/${kind}/${name} content)
    string(APPEND text "{\"${name}\", R\"troupe(${content})troupe\"},\n")
  endforeach()
  string(APPEND text "    };\n  }\n")
endforeach()
string(APPEND text "  return {};\n}\n\n}  // namespace troupe::cli\n")
file(WRITE ${OUTPUT} "${text}")
