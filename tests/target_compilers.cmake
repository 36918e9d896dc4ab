# The compilers for programs under test, which are in C and built without the flags of the tree:
#
#   gcc         the compiler if it is GNU's, otherwise gcc (clang 14 lacks dialects of TLS)
#   musl_gcc    the same for musl; it is empty if there is none
#   musl_lib    the folder with musl's start files
#
# Each is one program, so that it can be passed on as one word. For another processor, two scripts
# run the cross compiler, because it looks for lld under a name of its own, and Debian's specs of
# musl are for a compiler and a musl that are installed in the root folder.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(gcc ${CMAKE_C_COMPILER})
else()
  find_program(LABELSCOPE_GCC gcc REQUIRED)
  set(gcc ${LABELSCOPE_GCC})
endif()
find_program(LABELSCOPE_LLD ld.lld)

# labelscope_compiler_script(<name> <command>...): writes the script compilers/<name> of the build.
function(labelscope_compiler_script name)
  set(script ${CMAKE_BINARY_DIR}/compilers/${name})
  list(TRANSFORM ARGN REPLACE "^.+$" "'\\0'" OUTPUT_VARIABLE command)  # folders may have spaces
  list(JOIN command " " command)
  file(CONFIGURE OUTPUT ${script} CONTENT "#!/bin/sh\nexec ${command} \"$@\"\n")
  file(CHMOD ${script}
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
       WORLD_EXECUTE)
endfunction()

if(CMAKE_CROSSCOMPILING)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/compilers)
  if(LABELSCOPE_LLD)
    file(CREATE_LINK ${LABELSCOPE_LLD} ${CMAKE_BINARY_DIR}/compilers/ld.lld SYMBOLIC)
  endif()
  labelscope_compiler_script(gcc ${gcc} --sysroot=${CMAKE_SYSROOT} -B${CMAKE_BINARY_DIR}/compilers)
  set(gcc ${CMAKE_BINARY_DIR}/compilers/gcc)

  set(musl_gcc "")
  set(musl_lib ${CMAKE_SYSROOT}/usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-musl)
  if(EXISTS ${musl_lib}/musl-gcc.specs)
    file(READ ${musl_lib}/musl-gcc.specs specs)
    string(REPLACE " " "\\ " sysroot "${CMAKE_SYSROOT}")  # as specs have it
    string(REPLACE " /usr/" " ${sysroot}/usr/" specs "${specs}")
    string(REPLACE "-L/usr/" "-L${sysroot}/usr/" specs "${specs}")
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/compilers/musl-gcc.specs CONTENT "${specs}" @ONLY)
    # Outlined atomic operations need glibc, which they ask for the processor's features.
    labelscope_compiler_script(musl-gcc ${CMAKE_BINARY_DIR}/compilers/gcc
      -specs=${CMAKE_BINARY_DIR}/compilers/musl-gcc.specs -mno-outline-atomics)
    set(musl_gcc ${CMAKE_BINARY_DIR}/compilers/musl-gcc)
  endif()
else()
  find_program(LABELSCOPE_MUSL_GCC musl-gcc)
  find_path(LABELSCOPE_MUSL_LIB rcrt1.o NO_DEFAULT_PATH
    PATHS /usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-musl /usr/lib/musl/lib
          /usr/${CMAKE_SYSTEM_PROCESSOR}-linux-musl/lib64)
  set(musl_gcc ${LABELSCOPE_MUSL_GCC})
  set(musl_lib ${LABELSCOPE_MUSL_LIB})
endif()

# gcc's names of the two dialects of general dynamic code differ between processors.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(dialect_gnu -mtls-dialect=trad)
  set(dialect_gnu2 -mtls-dialect=desc)
else()
  set(dialect_gnu -mtls-dialect=gnu)
  set(dialect_gnu2 -mtls-dialect=gnu2)
endif()
