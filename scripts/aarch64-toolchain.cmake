# This is the Debian cross compiler for aarch64 with the libraries in build/sysroot/aarch64
# (scripts/cross_sysroot.sh), and qemu's user mode to run what it makes: cmake --preset aarch64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/aarch64 ABSOLUTE)
if(NOT EXISTS ${CMAKE_SYSROOT}/.contents)
  message(FATAL_ERROR "${CMAKE_SYSROOT} is not there: run scripts/cross_sysroot.sh aarch64")
endif()

# Use libraries of the target, and programs of this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

# Unit tests run in this emulator. It has neither ptrace nor bpf(2), and starts no program of the
# target by itself.
find_program(LABELSCOPE_QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64)
mark_as_advanced(LABELSCOPE_QEMU_AARCH64)
if(LABELSCOPE_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${LABELSCOPE_QEMU_AARCH64} -L ${CMAKE_SYSROOT})
endif()
