# The program's own: where the shipped model lies in the source tree, man page, completions, helper of its tests.
if(NOT TARGET roformer-program)
  return()
endif()

set(RF_MODEL_DIR "${PROJECT_SOURCE_DIR}/models/roformer-small-en" CACHE PATH "Model that answers when no other is named")
target_compile_definitions(roformer-program PRIVATE RF_MODEL_DIR="${RF_MODEL_DIR}" RF_BUILD_TYPE="${CMAKE_BUILD_TYPE}")

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
set_source_files_properties(src/cli/shell/help.c PROPERTIES COMPILE_DEFINITIONS "RF_DATE=\"${rf_date}\"")

# roformer.1 and the completion scripts are what the program prints about itself.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(rf_man ${PROJECT_BINARY_DIR}/man/roformer.1)
  set(rf_completions ${PROJECT_BINARY_DIR}/completions)
  add_custom_command(OUTPUT ${rf_man} ${rf_completions}/roformer ${rf_completions}/_roformer ${rf_completions}/roformer.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man ${rf_completions}
    COMMAND roformer-program --man > ${rf_man}
    COMMAND roformer-program completion bash > ${rf_completions}/roformer
    COMMAND roformer-program completion zsh > ${rf_completions}/_roformer
    COMMAND roformer-program completion fish > ${rf_completions}/roformer.fish
    DEPENDS roformer-program VERBATIM)
  add_custom_target(roformer-man ALL DEPENDS ${rf_man})
endif()

# Writes a tiny random model for the tests of the program.
if(BUILD_TESTING)
  add_executable(make_model tests/support_bin/make_model.c)
  target_link_libraries(make_model PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
  set_target_properties(make_model PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endif()
