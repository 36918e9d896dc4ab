# A Go program without symbols whose stacks are known. Without Go there is none, and the test that
# needs it says so.
set(go_stacks ${CMAKE_CURRENT_BINARY_DIR}/go_stacks)
set_property(GLOBAL PROPERTY LABELSCOPE_GO_STACKS ${go_stacks}/program)
if(LABELSCOPE_GO)
  set(go_machine amd64)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(go_machine arm64)
  endif()
  add_custom_command(OUTPUT ${go_stacks}/program
    COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=off GOFLAGS= GOTOOLCHAIN=local
    GOCACHE=${CMAKE_BINARY_DIR}/go_cache
      GOARCH=${go_machine} CGO_ENABLED=0 ${LABELSCOPE_GO} build "-ldflags=-s -w"
      -o ${go_stacks}/program .
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/go_stacks
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/go_stacks/main.go VERBATIM)
  add_custom_target(labelscope_go_stacks ALL DEPENDS ${go_stacks}/program)
endif()
