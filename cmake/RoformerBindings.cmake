# What bindings for other languages read: roformer_plain.h, the public headers without preprocessor lines, and options.json, every
# option with its offset, type and default.
file(GLOB_RECURSE rf_public CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/roformer/*.h ${PROJECT_SOURCE_DIR}/include/roformer/*.def)
set(rf_bindings ${PROJECT_BINARY_DIR}/roformer_plain.h)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/roformer_plain.h
  COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER} sh ${PROJECT_SOURCE_DIR}/tools/plain_header.sh ${PROJECT_BINARY_DIR}/roformer_plain.h
  DEPENDS ${rf_public} ${PROJECT_SOURCE_DIR}/tools/plain_header.sh VERBATIM)
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)           # the table is printed by a program for the target
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/options_table.c
    COMMAND sh ${PROJECT_SOURCE_DIR}/tools/options_table.sh ${PROJECT_BINARY_DIR}/roformer_plain.h ${PROJECT_BINARY_DIR}/options_table.c
    DEPENDS ${PROJECT_BINARY_DIR}/roformer_plain.h ${PROJECT_SOURCE_DIR}/tools/options_table.sh VERBATIM)
  add_executable(roformer-options-table ${PROJECT_BINARY_DIR}/options_table.c)
  target_link_libraries(roformer-options-table PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/options.json
    COMMAND roformer-options-table > ${PROJECT_BINARY_DIR}/options.json DEPENDS roformer-options-table VERBATIM)
  list(APPEND rf_bindings ${PROJECT_BINARY_DIR}/options.json)
endif()
add_custom_target(roformer-bindings ALL DEPENDS ${rf_bindings})
