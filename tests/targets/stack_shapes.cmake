# Stacks of every shape (stack_shapes.cc). They are built without the flags of the tree: with
# sanitizers each step would take many. Names are bound when they are first called.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(stack_shapes ${CMAKE_CURRENT_BINARY_DIR}/stack-shapes)
  add_custom_command(OUTPUT ${stack_shapes}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -O2 -g -fomit-frame-pointer -fcf-protection=none
    -fPIE -pie -Wl,-z,lazy
      ${CMAKE_CURRENT_SOURCE_DIR}/stack_shapes.cc ${CMAKE_CURRENT_SOURCE_DIR}/stack_shapes.S
      -o ${stack_shapes}
    DEPENDS stack_shapes.cc stack_shapes.S VERBATIM)
  add_custom_target(labelscope_stack_shapes ALL DEPENDS ${stack_shapes})
  set_property(GLOBAL PROPERTY LABELSCOPE_STACK_SHAPES ${stack_shapes})
endif()
