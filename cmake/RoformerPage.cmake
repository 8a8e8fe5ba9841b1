# cmake -D OUT=FILE.c -D "FILES=A;B" -P RoformerPage.cmake: the bytes of files as the table srv_page_files (src/serve/page.h).
set(constants)
set(rows)
set(i 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND constants "static const unsigned char file${i}[] = {\n${bytes}0};\n")       # one byte more: a file may be empty
  string(APPEND rows "    {\"${name}\", file${i}, sizeof file${i} - 1},\n")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE ${OUT} "/* From src/serve/page, by cmake/RoformerPage.cmake. */\n#include \"serve/page.h\"\n${constants}"
     "const srv_page_file srv_page_files[] = {\n${rows}    {0},\n};\n")
