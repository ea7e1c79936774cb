# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a source that contains the report's page.
#
#   cmake -D FOLDER=lab/report -D CHART=chart.min.js -D OUTPUT=file -P embed.cmake
file(GLOB scripts ${FOLDER}/*.js)
set(text "#include \"lab/report/parts.hpp\"\n\nnamespace troupe::lab::report {\n")
foreach(part frame style script library licenses)
  set(files_of_frame ${FOLDER}/page.html)
  set(files_of_style ${FOLDER}/page.css)
  set(files_of_script ${scripts})
  set(files_of_library ${CHART})
  set(files_of_licenses ${FOLDER}/licenses.txt)
  string(APPEND text "\nconst char* const ${part} =")
  foreach(file IN LISTS files_of_${part})
    file(READ ${file} content)
    string(APPEND text " R\"troupe_report(" "${content}" ")troupe_report\"\n")
  endforeach()
  string(APPEND text ";\n")
endforeach()
string(APPEND text "\n}  // namespace troupe::lab::report\n")
file(WRITE ${OUTPUT} "${text}")
