# A program with a label from the start (early.c), started by each kind of loader. It is built
# without the flags of the tree, since sanitizers make system calls.
set(early_folder ${CMAKE_CURRENT_BINARY_DIR}/early)
file(MAKE_DIRECTORY ${early_folder})
set(early_source ${CMAKE_CURRENT_SOURCE_DIR}/early.c)
set(early_flags -O2 -Wall -Wextra -I ${PROJECT_SOURCE_DIR}/writer-lib/include)
set(early_programs)
# labelscope_add_early(<name> <compiler> [flags...]) builds one program.
function(labelscope_add_early name compiler)
  set(program ${early_folder}/${name})
  add_custom_command(OUTPUT ${program}
    COMMAND ${compiler} ${early_flags} ${ARGN} ${early_source} -o ${program}
    DEPENDS ${early_source} VERBATIM)
  set(early_programs ${early_programs} ${program} PARENT_SCOPE)
endfunction()
labelscope_add_early(glibc ${gcc} -fPIE -pie -rdynamic)
labelscope_add_early(glibc-static ${gcc} -static)
if(musl_gcc)
  labelscope_add_early(musl ${musl_gcc} -fPIE -pie -rdynamic)
  labelscope_add_early(musl-static ${musl_gcc} -static)
endif()
add_custom_target(labelscope_early ALL DEPENDS ${early_programs})
set_property(GLOBAL PROPERTY LABELSCOPE_EARLY ${early_folder})
