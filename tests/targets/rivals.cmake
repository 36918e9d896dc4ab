# Several publishers in one process that do not agree (rivals.c): an executable, and a library that
# is loaded beside it, or as a copy of its own. They are built without the flags of the tree, since
# a sanitizer's run time does not work with a second libc.
set(rivals_dir ${CMAKE_CURRENT_BINARY_DIR}/rivals)
set(rivals_library ${rivals_dir}/libcustomlabels-rival.so)
file(MAKE_DIRECTORY ${rivals_dir})
# Without -Bsymbolic the loader would bind the library to the executable's variable.
add_custom_command(OUTPUT ${rivals_library}
  COMMAND ${gcc} ${compile_flags} -fPIC ${dialect_gnu2} -shared -Wl,-Bsymbolic
    ${CMAKE_CURRENT_SOURCE_DIR}/publisher.c -o ${rivals_library}
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/publisher.c ${headers} VERBATIM)
add_custom_command(OUTPUT ${rivals_dir}/rivals
  COMMAND ${gcc} ${compile_flags} -fPIE -pie -rdynamic -pthread ${CMAKE_CURRENT_SOURCE_DIR}/rivals.c
    ${CMAKE_CURRENT_SOURCE_DIR}/truth.c ${CMAKE_CURRENT_SOURCE_DIR}/publisher.c
    -ldl -o ${rivals_dir}/rivals
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/rivals.c ${CMAKE_CURRENT_SOURCE_DIR}/truth.c
    ${CMAKE_CURRENT_SOURCE_DIR}/publisher.c ${headers} VERBATIM)
add_custom_target(labelscope_rivals ALL DEPENDS ${rivals_dir}/rivals ${rivals_library})
set_property(GLOBAL PROPERTY LABELSCOPE_RIVALS ${rivals_dir}/rivals)
set_property(GLOBAL PROPERTY LABELSCOPE_RIVALS_LIBRARY ${rivals_library})

# Tests of several readers share this.
add_library(labelscope_rivals_support STATIC ${PROJECT_SOURCE_DIR}/tests/support/rivals.cc)
labelscope_test_paths(labelscope_rivals_support kRivals=${rivals_dir}/rivals
  kRivalsLibrary=${rivals_library})
target_link_libraries(labelscope_rivals_support
  PUBLIC labelscope_target_process labelscope_catch_main PRIVATE labelscope_flags)
add_dependencies(labelscope_rivals_support labelscope_rivals)
