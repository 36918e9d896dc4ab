# One ctest case for each combination of the matrix, set of threads and reader: a skip names one
# combination, and a failure too.
get_property(cases GLOBAL PROPERTY LABELSCOPE_MATRIX_CASES)
get_property(matrix_dir GLOBAL PROPERTY LABELSCOPE_MATRIX_DIR)
get_property(matrix_expected GLOBAL PROPERTY LABELSCOPE_MATRIX_EXPECTED)

# labelscope_add_matrix_test(<tier> <reader> <executable> LIBRARIES lib... [THREADS set...])
function(labelscope_add_matrix_test tier reader executable)
  cmake_parse_arguments(arg "" "" "LIBRARIES;THREADS" ${ARGN})
  add_executable(${executable} ${CMAKE_CURRENT_LIST_DIR}/${executable}.cc
    ${CMAKE_CURRENT_LIST_DIR}/resolver_matrix.cc)
  add_dependencies(${executable} labelscope_matrix)
  labelscope_test_paths(${executable} kMatrixDir=${matrix_dir} kMatrixExpected=${matrix_expected})
  target_link_libraries(${executable} PRIVATE
    labelscope_catch_main labelscope_target_process labelscope_flags ${arg_LIBRARIES})
  foreach(case ${cases})
    # The cross product runs with each set of threads; the single cases with all kinds at once.
    set(thread_sets all)
    if(case MATCHES "^[a-z]+-[a-z]+-(gnu|gnu2|ie)-(pie|nopie|static|static-pie|start|dlopen|dlopen64k|nosurplus)$")
      set(thread_sets one many untouched)
    endif()
    if(arg_THREADS)
      set(thread_sets ${arg_THREADS})
    endif()
    foreach(threads ${thread_sets})
      set(test "${tier}/resolver_matrix: ${case}, threads: ${threads}, through ${reader}")
      add_test(NAME "${test}" COMMAND ${executable})
      set_tests_properties("${test}" PROPERTIES LABELS "${tier};matrix" SKIP_RETURN_CODE 77
        TIMEOUT 60
        ENVIRONMENT LABELSCOPE_MATRIX_CASE=${case}/${threads})
    endforeach()
  endforeach()
endfunction()

labelscope_add_matrix_test(process ptrace resolver_matrix_test LIBRARIES labelscope_reader)
if(TARGET labelscope_bpf AND EXISTS ${CMAKE_CURRENT_LIST_DIR}/resolver_matrix_bpf_test.cc)
  labelscope_add_matrix_test(kernel bpf resolver_matrix_bpf_test LIBRARIES labelscope_bpf)
  labelscope_add_matrix_test(kernel "ptrace and bpf" resolver_matrix_cross_test
    LIBRARIES labelscope_bpf THREADS all)
endif()
