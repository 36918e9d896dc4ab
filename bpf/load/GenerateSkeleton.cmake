# This is run as a script. It links one BPF object (which strips its DWARF) and writes its skeleton.
# It prints how large the programs are, since the verifier limits their size.
execute_process(COMMAND ${BPFTOOL} gen object ${OBJECT}.linked ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BPFTOOL} gen skeleton ${OBJECT}.linked name ${NAME}
  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${SKELETON}.new "${text}")
file(RENAME ${SKELETON}.new ${SKELETON})
find_program(OBJDUMP NAMES llvm-objdump llvm-objdump-14 llvm-objdump-15 llvm-objdump-16)
if(OBJDUMP)
  execute_process(COMMAND ${OBJDUMP} -h ${OBJECT}.linked OUTPUT_VARIABLE sections ERROR_QUIET)
  string(REGEX MATCHALL "\n +[0-9]+ (\\.text|perf_event|raw_tp/[a-z_]+|iter[a-z_./]+) +[0-9a-f]+" lines "${sections}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "(\\.text|perf_event|raw_tp/[a-z_]+|iter[a-z_./]+) +([0-9a-f]+)" ignored "${line}")
    math(EXPR instructions "0x${CMAKE_MATCH_2} / 8")
    message(STATUS "${NAME}: ${CMAKE_MATCH_1}: ${instructions} instructions")
  endforeach()
endif()
