# Writers that break one rule of labelscope check each (and correct ones that break none), for the
# tests of its three depths. A writer is a folder whose name begins with the code of the rule, or
# with "good-", because the file's own name is one of the things that are checked:
#
#   violators/static/LS031-initial-exec/libcustomlabels.so
#
# Built without the flags of the tree, as the matrix is. A depth is a file of its own: static.cmake,
# live.cmake; those of the third are in ../steppers/steppers.cmake.
set(violators_dir ${CMAKE_CURRENT_BINARY_DIR}/violators)
set(violators_source ${CMAKE_CURRENT_SOURCE_DIR}/violators)
set(violators_files "")

# violator(<writer> <file> <compiler> <argument>...): its inputs are the absolute paths of sources
# and libraries among the arguments. It depends on headers next to the sources, too.
function(violator writer file compiler)
  set(inputs ${ARGN})
  list(FILTER inputs INCLUDE REGEX "^/.*\\.(c|cc|S|so)$")
  set(headers "")
  foreach(input IN LISTS inputs)
    cmake_path(GET input PARENT_PATH folder)
    file(GLOB found CONFIGURE_DEPENDS ${folder}/*.h)
    list(APPEND headers ${found})
  endforeach()
  file(MAKE_DIRECTORY ${violators_dir}/${writer})
  add_custom_command(OUTPUT ${violators_dir}/${writer}/${file}
    COMMAND ${compiler} ${ARGN} -o ${violators_dir}/${writer}/${file}
    DEPENDS ${inputs} ${headers} VERBATIM)
  set(violators_files ${violators_files} ${violators_dir}/${writer}/${file} PARENT_SCOPE)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/static.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/live.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/step.cmake OPTIONAL)

add_custom_target(labelscope_violators ALL DEPENDS ${violators_files})
set_property(GLOBAL PROPERTY LABELSCOPE_VIOLATORS ${violators_dir})
