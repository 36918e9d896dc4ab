# A program that is difficult for a checker (unruly.c), and the bundled writer with all its calls
# (self_check.c).
set(unruly ${CMAKE_CURRENT_BINARY_DIR}/unruly)
add_custom_command(OUTPUT ${unruly}
  COMMAND ${gcc} ${compile_flags} -DREST_MS=${rest_ms}
  -fPIE -pie -rdynamic ${CMAKE_CURRENT_SOURCE_DIR}/unruly.c -o ${unruly}
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unruly.c ${headers} VERBATIM)
add_custom_target(labelscope_unruly ALL DEPENDS ${unruly})
set_property(GLOBAL PROPERTY LABELSCOPE_UNRULY ${unruly})

foreach(kind customlabels customlabels_static)
  add_executable(self_check_${kind} self_check.c)
  target_link_libraries(self_check_${kind} PRIVATE ${kind} labelscope_flags Threads::Threads)
endforeach()
