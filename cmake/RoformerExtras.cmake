# Benches: one program for each bench/bench_<name>.c.
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/bench_*.c)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE rf_flags roformer-static ${rf_kernel_libraries} ${packages})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endforeach()

include(RoformerFuzz)

# Examples and experiments are part of a build that is tested.
set(rf_untested "")
if(NOT BUILD_TESTING)
  set(rf_untested EXCLUDE_FROM_ALL)
endif()

# Examples, built with everything else so that they stay true.
file(GLOB example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
foreach(source ${example_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${rf_untested} ${source})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  if(name STREQUAL "roformer_in_one_file")
    target_link_libraries(example_${name} PRIVATE m)
    target_compile_options(example_${name} PRIVATE -O2 -Wall -Wextra)
  else()
    target_link_libraries(example_${name} PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
  endif()
endforeach()

# The program that README.md prints.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md)
file(READ ${PROJECT_SOURCE_DIR}/README.md readme)
string(REGEX MATCH "\n```c\n([^`]*)```" readme "${readme}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/readme.c CONTENT "${CMAKE_MATCH_1}" @ONLY)
add_executable(example_readme ${rf_untested} ${PROJECT_BINARY_DIR}/readme.c)
set_target_properties(example_readme PROPERTIES OUTPUT_NAME readme RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
target_link_libraries(example_readme PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})

# The ten lines of C of docs/rope.md, for the test of that page.
if(TARGET docs_test_rope_pages)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/rope.md)
  file(READ ${PROJECT_SOURCE_DIR}/docs/rope.md page)
  string(REGEX MATCH "\n```c\n([^`]*)```" page "${page}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/rope_page/rope_page.inc CONTENT "${CMAKE_MATCH_1}" @ONLY)
  target_include_directories(docs_test_rope_pages PRIVATE ${PROJECT_BINARY_DIR}/rope_page)
endif()

# Checks of the tree itself.
if(BUILD_TESTING)
  foreach(check floors headers mirror docs words tasks lines files)
    add_test(NAME check/${check} COMMAND sh ${PROJECT_SOURCE_DIR}/tools/check_${check}.sh)
  endforeach()
  add_test(NAME check/symbols COMMAND sh ${PROJECT_SOURCE_DIR}/tools/check_symbols.sh $<TARGET_FILE:roformer-static>)
  if(TARGET roformer-shared)
    add_test(NAME check/callers COMMAND sh ${PROJECT_SOURCE_DIR}/tools/check_callers.sh $<TARGET_FILE:roformer-shared>)
    if(TARGET roformer-program)
      add_test(NAME check/linked COMMAND sh ${PROJECT_SOURCE_DIR}/tools/check_linked.sh $<TARGET_FILE:roformer-shared>
        $<TARGET_OBJECTS:roformer-program>)
    endif()
    if(NOT RF_SANITIZE)                                     # it links a program of its own
      add_test(NAME check/null COMMAND sh ${PROJECT_SOURCE_DIR}/tools/check_null.sh $<TARGET_FILE:roformer-shared>)
    endif()
  endif()
endif()

# Experiments that need a program of their own.
add_executable(compare EXCLUDE_FROM_ALL experiments/shipped-model/compare.c experiments/shipped-model/ngrams.c)
target_link_libraries(compare PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
add_executable(hold_out EXCLUDE_FROM_ALL experiments/shipped-model/hold_out.c)
target_compile_definitions(hold_out PRIVATE _GNU_SOURCE)
target_link_libraries(hold_out PRIVATE rf_flags)
add_executable(validation EXCLUDE_FROM_ALL experiments/shipped-model/validation.c)
target_compile_definitions(validation PRIVATE _GNU_SOURCE)
target_link_libraries(validation PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
target_include_directories(hold_out SYSTEM PRIVATE ${XXHASH_INCLUDE})
target_include_directories(validation SYSTEM PRIVATE ${XXHASH_INCLUDE})
add_executable(experiment ${rf_untested} experiments/experiment.c experiments/chart.c experiments/run.c)
target_link_libraries(experiment PRIVATE rf_flags PkgConfig::jansson m)
add_executable(glue ${rf_untested} experiments/glue/glue.c experiments/glue/tasks.c experiments/glue/table.c experiments/run.c)
target_link_libraries(glue PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
add_executable(lengths ${rf_untested} experiments/lengths/lengths.c experiments/run.c)
target_link_libraries(lengths PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
add_executable(glue_baselines EXCLUDE_FROM_ALL experiments/glue-baselines/baselines.c)
target_link_libraries(glue_baselines PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
target_include_directories(glue SYSTEM PRIVATE ${XXHASH_INCLUDE})
target_include_directories(glue_baselines SYSTEM PRIVATE ${XXHASH_INCLUDE})
foreach(name decay planes)                           # what trained models do with positions
  add_executable(${name} EXCLUDE_FROM_ALL experiments/${name}/${name}.c)
  target_link_libraries(${name} PRIVATE rf_flags roformer-static ${packages} ${rf_kernel_libraries})
endforeach()
set_target_properties(compare hold_out validation experiment glue lengths glue_baselines decay planes PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/experiments)

# The twin is run by a test of the library.
if(TARGET model_test_twin)
  target_compile_definitions(model_test_twin PRIVATE T_TWIN="$<TARGET_FILE:example_roformer_in_one_file>")
  add_dependencies(model_test_twin example_roformer_in_one_file)
endif()
