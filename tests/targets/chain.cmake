# A known chain of calls, in code without frame pointers (chain.c): as a program with a library, and
# as a static program of musl, which describes neither its functions nor the code to which signal
# handlers return.
set(chain_flags -O2 -fomit-frame-pointer)
# Return addresses are signed where that exists; those of the static program are not.
set(protected_flags)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(protected_flags -mbranch-protection=standard)
endif()

add_library(labelscope-chain-library SHARED chain_library.c)
# Options of a file come last, behind those of labelscope_flags, which keep frame pointers.
set_source_files_properties(chain.c chain_library.c PROPERTIES
  COMPILE_OPTIONS "${chain_flags};${protected_flags}")
# The library calls a function of the program.
target_link_options(labelscope-chain-library PRIVATE -Wl,--unresolved-symbols=ignore-all)
target_link_libraries(labelscope-chain-library PRIVATE labelscope_flags)
add_executable(labelscope-chain chain.c)
set_target_properties(labelscope-chain PROPERTIES ENABLE_EXPORTS ON)
target_link_libraries(labelscope-chain PRIVATE labelscope-chain-library labelscope_flags)

if(musl_gcc)
  set(chain_musl ${CMAKE_CURRENT_BINARY_DIR}/labelscope-chain-musl)
  add_custom_command(OUTPUT ${chain_musl}
    COMMAND ${musl_gcc} ${chain_flags} -static -o ${chain_musl}
            ${CMAKE_CURRENT_SOURCE_DIR}/chain.c ${CMAKE_CURRENT_SOURCE_DIR}/chain_library.c
    DEPENDS chain.c chain_library.c chain.h VERBATIM)
  add_custom_target(chain_musl ALL DEPENDS ${chain_musl})
endif()
