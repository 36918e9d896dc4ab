# Go programs with labels of runtime/pprof (main.go), linked in each way that moves the place of the
# running goroutine. Without Go there are none, and the test that needs them says so.
find_program(LABELSCOPE_GO go)
set(go_labels ${CMAKE_CURRENT_BINARY_DIR}/go_labels)
set_property(GLOBAL PROPERTY LABELSCOPE_GO_LABELS ${go_labels})
add_executable(labelscope-go-loader go_loader.c)
target_link_libraries(labelscope-go-loader PRIVATE labelscope_flags ${CMAKE_DL_LIBS})
set(go_programs "")
set(go_machine amd64)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(go_machine arm64)
endif()

# go_program(<output> <CGO_ENABLED> <go build option>...) builds one program.
function(go_program output cgo)
  set(sources ${CMAKE_CURRENT_SOURCE_DIR}/go_labels/main.go
    ${CMAKE_CURRENT_SOURCE_DIR}/go_labels/with_cgo.go
    ${CMAKE_CURRENT_SOURCE_DIR}/go_labels/without_cgo.go)
  add_custom_command(OUTPUT ${go_labels}/${output}
    COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=off GOFLAGS= GOTOOLCHAIN=local
    GOCACHE=${CMAKE_BINARY_DIR}/go_cache
      GOARCH=${go_machine} CGO_ENABLED=${cgo} CC=${gcc} ${LABELSCOPE_GO} build ${ARGN}
      -o ${go_labels}/${output} .
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/go_labels
    DEPENDS ${sources} VERBATIM)
  set(go_programs ${go_programs} ${go_labels}/${output} PARENT_SCOPE)
endfunction()

if(LABELSCOPE_GO)
  go_program(static 0)
  go_program(stripped 0 -ldflags=-s)
  go_program(pie 0 -buildmode=pie)
  go_program(cgo 1 -ldflags=-linkmode=external)
  go_program(cgo_pie 1 -buildmode=pie -ldflags=-linkmode=external)
  go_program(shared.so 1 -buildmode=c-shared)
  # This one is only read, not run.
  set(go_machine arm64)
  go_program(aarch64 0)
endif()
add_custom_target(labelscope_go_labels ALL DEPENDS ${go_programs})
