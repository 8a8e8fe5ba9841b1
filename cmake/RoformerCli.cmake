# The program's own: where the shipped models lie, man page, completions, helper of its tests.
if(NOT TARGET roformer-program)
  return()
endif()

# Models, as seen from where the program is installed.  In a build folder a link stands for them; Windows allows
# links to few.
set(rf_models ${CMAKE_INSTALL_FULL_DATADIR}/roformer/models)
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_DATADIR}" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_BINDIR}")
  file(RELATIVE_PATH rf_models ${CMAKE_INSTALL_FULL_BINDIR} ${rf_models})
endif()
if(CMAKE_HOST_WIN32)
  file(COPY ${PROJECT_SOURCE_DIR}/models DESTINATION ${PROJECT_BINARY_DIR})
else()
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/models ${PROJECT_BINARY_DIR}/models SYMBOLIC)
endif()
set(rf_program_definitions RF_MODELS="${rf_models}" RF_BUILD_TYPE="${CMAKE_BUILD_TYPE}")
target_compile_definitions(roformer-program PRIVATE ${rf_program_definitions})

# The manual's date is that of the sources, not of the build: of this version in CHANGELOG.md, else SOURCE_DATE_EPOCH, else
# of the commit.
set(rf_date "")
file(STRINGS CHANGELOG.md rf_release REGEX "^## +\\[?${PROJECT_VERSION}[^0-9.].*[0-9]+-[0-9]+-[0-9]+" LIMIT_COUNT 1)
if(rf_release)
  string(REGEX MATCH "[0-9]+-[0-9]+-[0-9]+" rf_date "${rf_release}")
elseif(DEFINED ENV{SOURCE_DATE_EPOCH})
  string(TIMESTAMP rf_date "%Y-%m-%d" UTC)
else()
  execute_process(COMMAND git log -1 --format=%cs WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE rf_date
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set_source_files_properties(src/cli/help/manual.c PROPERTIES COMPILE_DEFINITIONS "RF_DATE=\"${rf_date}\"")

# The man pages and the completion scripts are what the program prints about itself.  When it is built for another machine, an
# emulator runs it, or a roformer of this version that runs here answers for it.
set(rf_self roformer-program)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(RF_HOST_PROGRAM "" CACHE FILEPATH "Cross-building: a roformer of this version that runs here, for the manual and completions")
  set(rf_self ${RF_HOST_PROGRAM})
  if(RF_HOST_PROGRAM)
    execute_process(COMMAND ${RF_HOST_PROGRAM} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT version STREQUAL "roformer ${PROJECT_VERSION}")
      message(FATAL_ERROR "RF_HOST_PROGRAM: ${RF_HOST_PROGRAM} says \"${version}\", expected \"roformer ${PROJECT_VERSION}\"")
    endif()
  else()
    message(STATUS "Cross-building without an emulator or RF_HOST_PROGRAM: manual page and completions are left out")
  endif()
endif()
if(rf_self)
  set(rf_man ${PROJECT_BINARY_DIR}/man/roformer.1)
  set(rf_completions ${PROJECT_BINARY_DIR}/completions)
  set(rf_mans ${rf_man})
  set(rf_print_mans "")
  file(STRINGS src/cli/shell/commands.def rf_commands REGEX "^CLI_COMMAND")
  foreach(row IN LISTS rf_commands)
    string(REGEX REPLACE "^CLI_COMMAND\\(([a-z_]+),.*$" "\\1" command "${row}")
    string(REPLACE _ - command ${command})
    list(APPEND rf_mans ${PROJECT_BINARY_DIR}/man/roformer-${command}.1)
    list(APPEND rf_print_mans COMMAND ${rf_self} help --man ${command} > ${PROJECT_BINARY_DIR}/man/roformer-${command}.1)
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/cli/shell/commands.def)
  add_custom_command(OUTPUT ${rf_mans} ${rf_completions}/roformer ${rf_completions}/_roformer ${rf_completions}/roformer.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man ${rf_completions}
    COMMAND ${rf_self} --man > ${rf_man}
    ${rf_print_mans}
    COMMAND ${rf_self} completion bash > ${rf_completions}/roformer
    COMMAND ${rf_self} completion zsh > ${rf_completions}/_roformer
    COMMAND ${rf_self} completion fish > ${rf_completions}/roformer.fish
    DEPENDS ${rf_self} VERBATIM)
  add_custom_target(roformer-man ALL DEPENDS ${rf_mans})
endif()

# jieba's dictionary, compiled by the program itself.
set(rf_dictionary "${RF_DICTIONARY}")
if(RF_DICTIONARY STREQUAL "AUTO")
  set(rf_dictionary /usr/lib/python3/dist-packages/jieba/dict.txt)
  if(NOT EXISTS ${rf_dictionary})
    message(STATUS "jieba's dict.txt not found (Debian: python3-jieba): no dictionary of Chinese words is compiled")
    set(rf_dictionary OFF)
  endif()
endif()
if(rf_dictionary AND rf_self)
  set(rf_words ${PROJECT_BINARY_DIR}/dictionary/jieba.words)
  add_custom_command(OUTPUT ${rf_words}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/dictionary
    COMMAND ${rf_self} dictionary -q --name jieba -o ${rf_words} ${rf_dictionary}
    DEPENDS ${rf_dictionary} ${PROJECT_SOURCE_DIR}/src/text/chinese/dictionary_compile.c
            ${PROJECT_SOURCE_DIR}/src/text/chinese/dictionary_layout.c VERBATIM)
  add_custom_target(roformer-dictionary ALL DEPENDS ${rf_words})
  add_dependencies(roformer-dictionary roformer-program)
endif()

# Writes a tiny random model for the tests of the program.
if(BUILD_TESTING)
  add_executable(make_model tests/support_bin/make_model.c)
  target_link_libraries(make_model PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
  set_target_properties(make_model PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(WIN32)                                            # what only Windows has: a console, files that are not shared
    foreach(program make_console make_held)
      add_executable(${program} tests/support_bin/${program}.c)
      target_link_libraries(${program} PRIVATE rf_flags)
      set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    endforeach()
  endif()
endif()
