# Many threads with labels of their own, and threads that come and go (crowd.c). They are built
# without the flags of the tree: a sanitizer's run time has threads of its own, and makes a thousand
# of them slow.
set(crowd ${CMAKE_CURRENT_BINARY_DIR}/crowd)
add_custom_command(OUTPUT ${crowd}
  COMMAND ${gcc} ${compile_flags} -fPIE -pie -rdynamic -pthread ${CMAKE_CURRENT_SOURCE_DIR}/crowd.c
    ${CMAKE_CURRENT_SOURCE_DIR}/truth.c ${CMAKE_CURRENT_SOURCE_DIR}/publisher.c -o ${crowd}
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/crowd.c ${CMAKE_CURRENT_SOURCE_DIR}/truth.c
    ${CMAKE_CURRENT_SOURCE_DIR}/publisher.c ${headers} VERBATIM)
add_custom_target(labelscope_crowd ALL DEPENDS ${crowd})
set_property(GLOBAL PROPERTY LABELSCOPE_CROWD ${crowd})
