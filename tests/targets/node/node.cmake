# An addon for programs in JavaScript that label their work (writer-lib/node). Without the headers of
# Node-API there is neither, and the tests that need them say so.
set_property(GLOBAL PROPERTY LABELSCOPE_NODE_MODULES "")
if(NOT TARGET customlabels_node)
  return()
endif()
get_target_property(node_modules customlabels_node CUSTOMLABELS_NODE_MODULES)
set_property(GLOBAL PROPERTY LABELSCOPE_NODE_MODULES ${node_modules})
get_target_property(node_folders customlabels_node INCLUDE_DIRECTORIES)
add_library(node_witness MODULE ${CMAKE_CURRENT_SOURCE_DIR}/node/witness.c)
target_include_directories(node_witness SYSTEM PRIVATE ${node_folders})
target_compile_definitions(node_witness PRIVATE _GNU_SOURCE)
target_link_libraries(node_witness PRIVATE labelscope::threadcontext labelscope_flags
  ${CMAKE_DL_LIBS})
# In the folder of the module, programs find it as they find that.
set_target_properties(node_witness PROPERTIES OUTPUT_NAME witness PREFIX "" SUFFIX .node
  LIBRARY_OUTPUT_DIRECTORY ${node_modules})
