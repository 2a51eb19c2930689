# Part of the wheel's install step: copies the shared libraries of the programs to
# forebay/lib, each once and under the name it is asked for by.
set(package ${CMAKE_INSTALL_PREFIX}/forebay)
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${package}/bin/forebay ${package}/bin/forebay-node ${package}/bin/forebay-head
              ${package}/bin/forebay-mount
  DIRECTORIES ${arrow_dir}
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so"
  RESOLVED_DEPENDENCIES_VAR libraries)
foreach(library ${libraries})
  get_filename_component(name ${library} NAME)
  configure_file(${library} ${package}/lib/${name} COPYONLY)
endforeach()
# These were linked with the path of this machine's Arrow as well.
foreach(program forebay-node forebay-head)
  file(RPATH_SET FILE ${package}/bin/${program} NEW_RPATH "$ORIGIN/../lib")
endforeach()
