# periodic.cc does work at fixed periods, and prints the truth about it.
add_executable(labelscope-periodic periodic.cc)
target_link_libraries(labelscope-periodic PRIVATE labelscope::customlabels Threads::Threads)
target_compile_options(labelscope-periodic PRIVATE -O2 -fno-omit-frame-pointer)
