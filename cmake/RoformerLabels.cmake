# Labels and costs of all tests: quick and full by tests/costs.txt, the longest first; rungs: what another T_ISA computes otherwise (.ci/run
# rungs).  Label sweep takes long, and is run only by
#
#     ctest --test-dir build/release -C sweep -L sweep          (make sweep)
add_test(NAME sweep/kill COMMAND sh ${PROJECT_SOURCE_DIR}/tools/kill_sweep.sh ${PROJECT_BINARY_DIR} CONFIGURATIONS sweep
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME sweep/many_texts COMMAND model_test_many_texts 10000 CONFIGURATIONS sweep
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(sweep/kill sweep/many_texts PROPERTIES LABELS sweep TIMEOUT 86400)

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
list(REMOVE_ITEM tests sweep/kill sweep/many_texts)
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
