# Writes <executable>.loops: what the measured loops look like in the machine code. The executable is whole
# without it: it then calls its loops "unknown".
if(CMAKE_OBJDUMP)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND "${Python3_EXECUTABLE}" -I "${CMAKE_CURRENT_SOURCE_DIR}/suites/containers/shared/inspect_loops.py"
      "${CMAKE_OBJDUMP}" "$<TARGET_FILE:${target}>"
    VERBATIM)
  set_property(TARGET ${target} APPEND PROPERTY
    LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/suites/containers/shared/inspect_loops.py")
endif()
