# Labels and costs of all tests: quick and full by tests/costs.txt, the longest first; rungs: what another T_ISA computes otherwise (.ci/run
# rungs).  Label sweep takes long, and is run only by
#
#     ctest --test-dir build/release -C sweep -L sweep          (make sweep)
add_test(NAME sweep/kill COMMAND sh ${PROJECT_SOURCE_DIR}/tools/kill_sweep.sh ${PROJECT_BINARY_DIR} CONFIGURATIONS sweep
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME sweep/many_texts COMMAND model_test_many_texts 10000 CONFIGURATIONS sweep
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set(rf_sweeps sweep/kill sweep/many_texts)
if(rf_serve AND RF_PROGRAM)
  add_test(NAME sweep/serve COMMAND python3 bench/serving_soak.py ${PROJECT_BINARY_DIR} docs/serving.md --minutes 15
    CONFIGURATIONS sweep WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  list(APPEND rf_sweeps sweep/serve)
endif()
set_tests_properties(${rf_sweeps} PROPERTIES LABELS sweep TIMEOUT 86400)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tests/costs.txt)
file(STRINGS tests/costs.txt lines REGEX "^[^#]")
foreach(line ${lines})
  separate_arguments(line)
  list(GET line 0 test)
  list(GET line 1 rf_cost_${test})
endforeach()
# Kernel tests run every rung by themselves, but for what these do; programs of examples/ take the best rung; kills and faults, help and
# completion do not see it.
set(rf_rungs "^(analysis|cli|graph|model|optim|pipeline|task|train)/|^kernel/test_(attend|gemm|gemm_i8|ladder|rope)$")
set(rf_not_rungs "^cli/(examples|programs|help|completion|children|trust|signals|readme_zh|rope_pages)$|^train/test_(faults|saver)$")
get_property(tests DIRECTORY PROPERTY TESTS)
list(REMOVE_ITEM tests ${rf_sweeps})
foreach(test ${tests})
  set(label quick)
  if(DEFINED rf_cost_${test})
    set_tests_properties(${test} PROPERTIES COST ${rf_cost_${test}})
    if(rf_cost_${test} GREATER_EQUAL 3)
      set(label full)
    endif()
  endif()
  if(test MATCHES "${rf_rungs}" AND NOT test MATCHES "${rf_not_rungs}")
    list(APPEND label rungs)
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${label}")
endforeach()
