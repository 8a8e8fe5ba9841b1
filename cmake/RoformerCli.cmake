# The program's own: where the shipped model lies in the source tree, man page, completions, helper of its tests.
if(NOT TARGET roformer-program)
  return()
endif()

set(RF_MODEL_DIR "${PROJECT_SOURCE_DIR}/models/roformer-small-en" CACHE PATH "Model that answers when no other is named")
target_compile_definitions(roformer-program PRIVATE RF_MODEL_DIR="${RF_MODEL_DIR}" RF_BUILD_TYPE="${CMAKE_BUILD_TYPE}")

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
