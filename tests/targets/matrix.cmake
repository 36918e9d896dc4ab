# The resolver matrix: one publisher (publisher.c), built in every way that changes how its
# thread-local variable is reached.
#
#   {glibc, musl} x {bfd, lld, gold} x {gnu, gnu2, ie} x shape
#
# gnu and gnu2 are the two dialects of general dynamic code (on aarch64 gcc calls them trad and
# desc), ie is initial exec. Shapes: the publisher in the executable (pie, nopie, static,
# static-pie), in a library there at start (start), in one that is loaded later (dlopen, dlopen64k,
# and nosurplus: without optional static TLS). After them come single cases that one axis alone does
# not reach. A combination's name is libc-linker-dialect-shape.
#
# A case is one line of matrix/cases.txt, fields separated by |: name, program, module that holds a
# linked publisher (empty: the program), option, libraries to dlopen (by commas), environment, tool
# that is missing.
#
# What a toolchain cannot build does not stop the build: try_build.sh records it,
# list_unbuildable.sh lists it, and tests/process/resolver_matrix_test.cc skips what
# matrix_expected.txt knows and fails on the rest.
set(dir ${CMAKE_CURRENT_BINARY_DIR}/matrix)
file(MAKE_DIRECTORY ${dir})
set(stamps "")
set(cases "")

foreach(part crtbeginS.o crtendS.o)
  execute_process(COMMAND ${gcc} -print-file-name=${part}
    OUTPUT_VARIABLE ${part} OUTPUT_STRIP_TRAILING_WHITESPACE)
endforeach()

set(cc_glibc ${gcc})
set(cc_musl ${musl_gcc})
set(package_musl "musl-gcc is not installed (Debian package musl-tools)")
set(package_bfd "ld.bfd is not installed (Debian package binutils)")
set(package_lld "ld.lld is not installed (Debian package lld)")
set(package_gold "ld.gold is not installed (Debian package binutils)")

set(dialect_ie -ftls-model=initial-exec)
# The relocation that must be left in a library for it to be a test of that dialect.
set(relocation_gnu DTPMOD)
set(relocation_gnu2 TLSDESC)
set(relocation_ie TPOFF|TPREL)

# `why` names the missing tool, if there is one. Then nothing is built, and the cases are listed
# with the reason.
set(why "")

# matrix_build(<output> <kind> <command>...): builds an output by try_build.sh. Its inputs are the
# command's own files.
function(matrix_build output kind)
  if(why)
    return()
  endif()
  set(inputs ${ARGN})
  list(FILTER inputs INCLUDE REGEX "^(${dir}|${CMAKE_CURRENT_SOURCE_DIR})/.*\\.(o|so|c)$")
  list(REMOVE_ITEM inputs ${dir}/${output})
  list(TRANSFORM inputs APPEND ".tried" REGEX "\\.(o|so)$")
  add_custom_command(OUTPUT ${dir}/${output}.tried
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/try_build.sh ${dir}/${output} ${kind} ${ARGN}
    DEPENDS ${inputs} ${CMAKE_CURRENT_SOURCE_DIR}/try_build.sh ${headers}
    COMMENT "Trying ${output}" VERBATIM)
  set(stamps ${stamps} ${dir}/${output}.tried PARENT_SCOPE)
endfunction()

# matrix_case(<name> PROGRAM file [MODULE name] [OPTION --name=file] [LIBRARIES file...]
#             [ENVIRONMENT setting]): the option's file and the libraries are in this directory.
function(matrix_case name)
  cmake_parse_arguments(arg "" "PROGRAM;MODULE;OPTION;ENVIRONMENT" "LIBRARIES" ${ARGN})
  list(JOIN arg_LIBRARIES "," libraries)
  string(APPEND cases
    "${name}|${arg_PROGRAM}|${arg_MODULE}|${arg_OPTION}|${libraries}|${arg_ENVIRONMENT}|${why}\n")
  set(cases ${cases} PARENT_SCOPE)
endfunction()

set(headers ${CMAKE_CURRENT_SOURCE_DIR}/publisher.h ${CMAKE_CURRENT_SOURCE_DIR}/truth.h
            ${PROJECT_SOURCE_DIR}/writer-lib/include/customlabels/label_abi.h)
set(compile_flags -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fno-omit-frame-pointer
  -fno-toplevel-reorder
                  -I${PROJECT_SOURCE_DIR}/writer-lib/include)

set(publisher_variants plain 64k offset protected aligned)
set(define_plain "")
set(define_64k -DTLS_AFTER=65536)
set(define_offset -DTLS_BEFORE=40)
set(define_protected -DTLS_BEFORE=40 -DPROTECTED)
set(define_aligned -DTLS_BEFORE=24 -DTLS_ALIGN=64)

foreach(libc glibc musl)
  if(NOT cc_${libc})
    continue()
  endif()
  set(compile ${cc_${libc}} ${compile_flags} -c)
  set(host ${CMAKE_CURRENT_SOURCE_DIR}/host.c)
  matrix_build(${libc}-truth.o object ${compile} -fPIC ${CMAKE_CURRENT_SOURCE_DIR}/truth.c
    -o ${dir}/${libc}-truth.o)
  matrix_build(${libc}-pie.o object ${compile} -fPIE -DLINKED_PUBLISHER ${host}
    -o ${dir}/${libc}-pie.o)
  matrix_build(${libc}-nopie.o object ${compile} -fno-pie -DLINKED_PUBLISHER ${host}
    -o ${dir}/${libc}-nopie.o)
  matrix_build(${libc}-dlopen.o object ${compile} -fPIE -DCAN_DLOPEN ${host}
    -o ${dir}/${libc}-dlopen.o)
  matrix_build(${libc}-both.o object ${compile} -fPIE -DLINKED_PUBLISHER -DCAN_DLOPEN ${host}
    -o ${dir}/${libc}-both.o)
  matrix_build(${libc}-filler.o object ${compile} -fPIC ${CMAKE_CURRENT_SOURCE_DIR}/filler.c
    -o ${dir}/${libc}-filler.o)
  foreach(dialect gnu gnu2 ie)
    foreach(variant ${publisher_variants})
      # The object is position-independent in every case: the linker makes it local exec in an
      # executable.
      set(object ${libc}-${dialect}-${variant}.o)
      matrix_build(${object} object ${compile} -fPIC ${dialect_${dialect}} ${define_${variant}}
        ${CMAKE_CURRENT_SOURCE_DIR}/publisher.c -o ${dir}/${object})
    endforeach()
  endforeach()
endforeach()

# Used in the scope of one libc, linker and dialect: makes an executable with the publisher in it.
macro(matrix_executable shape variant kind)
  set(host_object ${kind})
  set(before "")
  set(after "")
  if(${kind} STREQUAL "pie")
    set(flags -pie -rdynamic)
  elseif(${kind} STREQUAL "nopie")
    set(flags -no-pie -rdynamic)
  elseif(${kind} STREQUAL "static")
    set(host_object nopie)
    set(flags -static)
    # musl-gcc always names an interpreter, and lld then uses one in a static link, too.
    if(${libc} STREQUAL "musl" AND NOT ${linker} STREQUAL "gold")
      list(APPEND flags -Wl,--no-dynamic-linker)
    endif()
  else()
    set(host_object pie)
    set(flags -static-pie)
    if(${libc} STREQUAL "musl")
      # musl-gcc does not know static PIE: it uses the start files of a dynamic executable.
      set(flags -static -Wl,-pie -Wl,-z,text -nostartfiles)
      if(NOT ${linker} STREQUAL "gold")
        list(APPEND flags -Wl,--no-dynamic-linker)
      endif()
      set(before ${musl_lib}/rcrt1.o ${musl_lib}/crti.o ${crtbeginS.o})
      set(after ${crtendS.o} ${musl_lib}/crtn.o)
    endif()
  endif()
  set(program ${prefix}-${shape})
  matrix_build(${program} ${kind} ${link} ${flags} ${ARGN} ${before} ${dir}/${libc}-${host_object}.o
    ${dir}/${libc}-truth.o ${dir}/${libc}-${dialect}-${variant}.o ${after} -o ${dir}/${program})
  matrix_case(${program} PROGRAM ${program})
endmacro()

# Makes a library, optionally with extra linker flags.
macro(matrix_library name variant)
  matrix_build(${name} library:${relocation_${dialect}} ${link} -shared -Wl,-soname,${name} ${bind}
    ${ARGN}
    ${dir}/${libc}-${dialect}-${variant}.o -o ${dir}/${name})
endmacro()

# Makes a program that has `library` from the start.
macro(matrix_start shape library)
  set(program ${prefix}-${shape})
  matrix_build(${program} pie ${link} -pie ${dir}/${libc}-pie.o ${dir}/${libc}-truth.o
    -Wl,--no-as-needed
    ${dir}/${library} -Wl,-rpath,${dir} -o ${dir}/${program})
  matrix_case(${program} PROGRAM ${program} MODULE ${library})
endmacro()

# Virtual machines run only a part (tests/vm/quick.txt), which takes half as long to build.
set(linkers bfd lld gold)
set(dialects gnu gnu2 ie)
set(dialects_lld ${dialects})
if(LABELSCOPE_GUEST_TESTS_ONLY)
  set(linkers bfd lld)
  set(dialects_lld gnu2)
endif()

foreach(libc glibc musl)
  foreach(linker IN LISTS linkers)
    set(link ${cc_${libc}} -fuse-ld=${linker} -pthread)
    set(bind "")
    if(linker STREQUAL "lld")
      set(bind -Wl,-Bsymbolic)
    endif()
    set(loader ${libc}-${linker}-loader)
    # The compiler is asked, since it looks for linkers in places of its own.
    set(why "")
    if(NOT cc_${libc})
      set(why ${package_${libc}})
    else()
      execute_process(COMMAND ${link} -Wl,--version RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
      if(failed)
        set(why ${package_${linker}})
      endif()
    endif()
    matrix_build(${loader} pie ${link} -pie ${dir}/${libc}-dlopen.o ${dir}/${libc}-truth.o -ldl
      -o ${dir}/${loader})
    set(dialects_here ${dialects})
    if(linker STREQUAL "lld")
      set(dialects_here ${dialects_lld})
    endif()
    foreach(dialect IN LISTS dialects_here)
      set(prefix ${libc}-${linker}-${dialect})
      foreach(kind pie nopie static static-pie)
        matrix_executable(${kind} plain ${kind})
      endforeach()
      set(library libcustomlabels-${prefix}.so)
      matrix_library(${library} plain)
      matrix_library(libcustomlabels-${prefix}-64k.so 64k)
      matrix_start(start ${library})
      matrix_case(${prefix}-dlopen PROGRAM ${loader} LIBRARIES ${library})
      matrix_case(${prefix}-dlopen64k PROGRAM ${loader} LIBRARIES libcustomlabels-${prefix}-64k.so)
      matrix_case(${prefix}-nosurplus PROGRAM ${loader} LIBRARIES ${library}
        ENVIRONMENT GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0)
      include(matrix_single_cases.cmake)
    endforeach()
  endforeach()
endforeach()

file(CONFIGURE OUTPUT ${dir}/cases.txt CONTENT "${cases}")
set(run run)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(run no-run)
endif()
add_custom_command(OUTPUT ${dir}/unbuildable.txt
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/list_unbuildable.sh ${dir}/cases.txt ${dir}/unbuildable.txt
  ${run}
    ${CMAKE_CROSSCOMPILING_EMULATOR}
  DEPENDS ${stamps} ${dir}/cases.txt ${CMAKE_CURRENT_SOURCE_DIR}/list_unbuildable.sh
  COMMENT "Listing what the resolver matrix cannot have here" VERBATIM)
add_custom_target(labelscope_matrix ALL DEPENDS ${dir}/unbuildable.txt)

# These are for tests/process: the names, and the places of the built targets.
string(REGEX MATCHALL "[^\n]+" lines "${cases}")
list(TRANSFORM lines REPLACE "\\|.*" "" OUTPUT_VARIABLE names)
set_property(GLOBAL PROPERTY LABELSCOPE_MATRIX_CASES ${names})
set_property(GLOBAL PROPERTY LABELSCOPE_MATRIX_DIR ${dir})
set_property(GLOBAL
  PROPERTY LABELSCOPE_MATRIX_EXPECTED ${CMAKE_CURRENT_SOURCE_DIR}/matrix_expected.txt)
