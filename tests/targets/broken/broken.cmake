# Programs whose labels are not shown, or by labelscope only: program.c, built with publishers that
# have one flaw each (flawed_publisher.c), or with a good one in a way that other readers do not
# find. The tests of --explain (process/explain_test.cc, cli/dump/dump_explain.sh) know what it must
# say of each.
#
# They are built without the flags of the tree, like the matrix. Each file is named after its
# set-up.
set(broken_dir ${CMAKE_CURRENT_BINARY_DIR}/broken)
set(broken_source ${CMAKE_CURRENT_SOURCE_DIR}/broken)
set(flawed ${broken_source}/flawed_publisher.c)
set(good ${CMAKE_CURRENT_SOURCE_DIR}/publisher.c)
file(MAKE_DIRECTORY ${broken_dir})
set(broken_files "")

# broken_file(<name> <gcc argument>...) builds one file.
function(broken_file name)
  set(inputs ${ARGN})
  list(FILTER inputs INCLUDE REGEX "^/")
  add_custom_command(OUTPUT ${broken_dir}/${name}
    COMMAND ${gcc} ${compile_flags} -I${CMAKE_CURRENT_SOURCE_DIR} -DMODULE="${name}" ${ARGN}
    -o ${broken_dir}/${name}
    DEPENDS ${inputs} ${headers} VERBATIM)
  set(broken_files ${broken_files} ${broken_dir}/${name} PARENT_SCOPE)
endfunction()

set(program ${broken_source}/program.c ${CMAKE_CURRENT_SOURCE_DIR}/truth.c)
set(exported -fPIE -pie -rdynamic)
set(library -fPIC -shared)

# These are executables.
broken_file(good-program ${program} ${good} ${exported} -ldl)
broken_file(no-publisher ${program} -DNO_PUBLISHER ${exported} -ldl)
broken_file(not-exported ${program} ${good} -fPIE -pie -ldl)
broken_file(stripped-static ${program} ${good} -DNO_DLOPEN -static -s)
broken_file(local-symbol ${program} ${flawed} -DLOCAL ${exported} -ldl)
foreach(flaw WRONG_VERSION WIDE_VERSION NOT_THREAD_LOCAL FOUR_BYTES ONLY_SET ONLY_VERSION)
  string(TOLOWER ${flaw} name)
  string(REPLACE "_" "-" name ${name})
  broken_file(${name} ${program} ${flawed} -D${flaw} ${exported} -ldl)
endforeach()

# Libraries, and a program that has one from its start.
broken_file(liblabels-renamed.so ${good} ${library} ${dialect_gnu2})
broken_file(libcustomlabels-gd.so ${good} ${library} ${dialect_gnu})
broken_file(libcustomlabels-ie.so ${good} ${library} ${dialect_ie})
broken_file(libhidden.so ${flawed} -DHIDDEN ${library} ${dialect_gnu2})
# 64 KiB are more than the static surplus, so each thread's block is allocated when it is touched.
broken_file(libcustomlabels-large.so ${good} ${library} ${dialect_gnu2} -DTLS_AFTER=65536)
foreach(number RANGE 1 7)
  broken_file(libcustomlabels-${number}.so ${good} ${library} ${dialect_gnu2})
endforeach()
foreach(name renamed gd ie)
  set(linked ${broken_dir}/libcustomlabels-${name}.so)
  if(name STREQUAL "renamed")
    set(linked ${broken_dir}/liblabels-renamed.so)
  endif()
  broken_file(with-${name} ${program} ${linked} -fPIE -pie -Wl,-rpath,${broken_dir} -ldl)
endforeach()

add_custom_target(labelscope_broken ALL DEPENDS ${broken_files})
set_property(GLOBAL PROPERTY LABELSCOPE_BROKEN ${broken_dir})
