# BPF programs are compiled by clang and embedded as a header by bpftool; nothing generated is kept
# in the tree.
find_program(LABELSCOPE_CLANG NAMES clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19 REQUIRED
             DOC "clang with the bpf target")
find_program(LABELSCOPE_BPFTOOL NAMES bpftool PATHS /usr/sbin REQUIRED DOC "bpftool of the distribution")
mark_as_advanced(LABELSCOPE_CLANG LABELSCOPE_BPFTOOL)

# labelscope_add_bpf_skeleton(<target> <skeleton name> <source> [DEFINITIONS macro...])
#
# Compiles <source> for the processor of the build, and makes <name>.skel.h includable by <target>.
# Debian keeps the processor's own kernel headers (asm/) in a multiarch folder that clang does not
# search when its target is bpf, so that folder is named here; for another processor it is in the
# sysroot, with all others. The build prints the number of instructions.
#
# An object has the lines of its source for the verifier's messages, with the names of their files
# relative to the top of the tree. clang is started there, because it reads the lines again under
# those names.
function(labelscope_add_bpf_skeleton target name source)
  cmake_parse_arguments(arg "" "" "DEFINITIONS" ${ARGN})
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(arch arm64)
  else()
    set(arch x86)
  endif()
  set(multiarch)
  if(CMAKE_LIBRARY_ARCHITECTURE)
    set(multiarch -isystem ${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
  endif()
  if(CMAKE_SYSROOT)
    list(APPEND multiarch -isystem ${CMAKE_SYSROOT}/usr/include)
  endif()
  list(TRANSFORM arg_DEFINITIONS PREPEND -D)
  get_filename_component(source ${source} ABSOLUTE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
  add_custom_command(OUTPUT ${object}
    COMMAND ${LABELSCOPE_CLANG} --target=bpf -O2 -g -Wall -Wextra -Werror -D__TARGET_ARCH_${arch} ${arg_DEFINITIONS}
            -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/bpf/include -I${PROJECT_SOURCE_DIR}/reader/include
            -I${PROJECT_SOURCE_DIR}/reader/src
            -I${PROJECT_SOURCE_DIR}/writer-lib/include ${multiarch}
            -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -fdebug-compilation-dir=.
            -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Compiling BPF object ${name}"
    VERBATIM)
  add_custom_command(OUTPUT ${skeleton}
    COMMAND ${CMAKE_COMMAND} -DBPFTOOL=${LABELSCOPE_BPFTOOL} -DOBJECT=${object} -DNAME=${name}
            -DSKELETON=${skeleton} -P ${PROJECT_SOURCE_DIR}/bpf/load/GenerateSkeleton.cmake
    DEPENDS ${object} ${PROJECT_SOURCE_DIR}/bpf/load/GenerateSkeleton.cmake
    COMMENT "Generating BPF skeleton ${name}"
    VERBATIM)
  target_sources(${target} PRIVATE ${skeleton})
  target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
