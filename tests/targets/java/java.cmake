# Java programs that label their threads (writer-lib/java). Without a JDK there are none, and the
# tests that need them say so.
set(java_programs ${CMAKE_CURRENT_BINARY_DIR}/java)
set_property(GLOBAL PROPERTY LABELSCOPE_JAVA_PROGRAMS "")
if(NOT TARGET customlabels_java)
  return()
endif()
set_property(GLOBAL PROPERTY LABELSCOPE_JAVA_PROGRAMS ${java_programs})
get_target_property(customlabels_jar customlabels_java CUSTOMLABELS_JAR)
set(sources)
foreach(name Truth LabelCases LabelLoad LabelChurn)
  list(APPEND sources ${CMAKE_CURRENT_SOURCE_DIR}/java/${name}.java)
endforeach()
add_custom_command(OUTPUT ${java_programs}/compiled
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${java_programs}
  COMMAND ${LABELSCOPE_JAVAC} --release 17 -Xlint:all,-try -cp ${customlabels_jar} -d ${java_programs}
          ${sources}
  COMMAND ${CMAKE_COMMAND} -E touch ${java_programs}/compiled
  DEPENDS ${sources} customlabels_java ${customlabels_jar} VERBATIM)
add_custom_target(labelscope_java_programs ALL DEPENDS ${java_programs}/compiled)

# This one calls the native methods without a JVM. The writer is loaded when it starts.
get_target_property(jni_folders labelsjni INCLUDE_DIRECTORIES)
add_executable(jni_caller ${CMAKE_CURRENT_SOURCE_DIR}/java/jni_caller.c)
target_include_directories(jni_caller SYSTEM PRIVATE ${jni_folders})
target_link_libraries(jni_caller PRIVATE labelscope::customlabels labelscope_flags Threads::Threads
  ${CMAKE_DL_LIBS})
target_link_options(jni_caller PRIVATE -Wl,--no-as-needed)
add_dependencies(jni_caller labelsjni)
