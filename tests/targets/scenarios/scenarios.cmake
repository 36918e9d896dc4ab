# Small programs, each for one or two scenarios of the command line.
foreach(name awkward late_loader maker plugins refused spinner)
  add_executable(${name} ${CMAKE_CURRENT_SOURCE_DIR}/scenarios/${name}.c)
  target_link_libraries(${name} PRIVATE labelscope_flags)
endforeach()
target_link_libraries(awkward PRIVATE Threads::Threads)
target_include_directories(awkward PRIVATE ${PROJECT_SOURCE_DIR}/writer-lib/include)
# The pair of symbols must be exported, as for a correct publisher.
set_target_properties(awkward PROPERTIES ENABLE_EXPORTS ON)
target_link_libraries(late_loader PRIVATE ${CMAKE_DL_LIBS})
target_include_directories(late_loader PRIVATE ${PROJECT_SOURCE_DIR}/writer-lib/include)
target_link_libraries(plugins PRIVATE labelscope::customlabels ${CMAKE_DL_LIBS})
target_link_libraries(spinner PRIVATE labelscope::customlabels)
