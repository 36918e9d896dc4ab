# labelscope in one file: the same program, linked statically to archives, with libc in it. It starts
# on every Linux from 5.10 on, whatever libc that has, and in an empty root. Debian has no archives
# of spdlog and fmt; their headers can be used alone instead. It is not built by default: ninja
# labelscope_portable (scripts/package.sh puts it into the archive of binaries).
#
# Of ISA-L there is no archive either: this program has the class that compresses with zlib, and
# leaves that of the library out. What libc and debuginfod would load at run time has a place of its
# own in the program (host/static_program.h).
#
# The linker warns of each function of libc that may load modules (dlopen, getpwnam, initgroups):
# prepare_libc() keeps them from that, and dlopen() is not called.
add_executable(labelscope_portable EXCLUDE_FROM_ALL main.cc host/log.cc format/common/gzip_writer.cc)
set_target_properties(labelscope_portable PROPERTIES
  LABELSCOPE_ARCHIVES ON OUTPUT_NAME labelscope RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/portable)
get_target_property(spdlog_headers spdlog::spdlog_header_only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(labelscope_portable SYSTEM PRIVATE ${spdlog_headers})
target_compile_definitions(labelscope_portable PRIVATE SPDLOG_FMT_EXTERNAL)
target_link_libraries(labelscope_portable PRIVATE
  labelscope_cli external_zlib fmt::fmt-header-only Threads::Threads labelscope_flags)
# An address space that is laid out at random, as that of any program.
target_link_options(labelscope_portable PRIVATE -static-pie)
