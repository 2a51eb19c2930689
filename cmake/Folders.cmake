# The folders of src/ that hold code, lowest first (src/LAYERS has the include rules).
forebay_folder(base LINK forebay_fmt forebay_spdlog)
forebay_folder(model LINK forebay_base)
function(forebay_folder_if_there name)
  file(GLOB found CONFIGURE_DEPENDS src/${name}/*.cc)
  if(found)
    forebay_folder(${name} ${ARGN})
  endif()
endfunction()
find_package(CURL REQUIRED)
forebay_folder_if_there(plan LINK forebay_model nlohmann_json::nlohmann_json)
if(FOREBAY_TESTS)
  # Every size takes ten seconds, so it runs beside the rest.
  set_tests_properties(plan PROPERTIES ENVIRONMENT "GTEST_FILTER=-*Exhaustive*")
  add_test(NAME plan_exhaustive COMMAND plan_test)
  set_tests_properties(plan_exhaustive PROPERTIES TIMEOUT 600 LABELS minute
                       ENVIRONMENT "GTEST_FILTER=*Exhaustive*")
endif()
forebay_folder_if_there(storage LINK forebay_model)
forebay_folder_if_there(storage/shared LINK forebay_storage)
if(FOREBAY_TESTS)
  # Starts servers and temp folders for tests; link it with TEST_LINK forebay_test_support.
  add_library(forebay_test_support STATIC tests/support/hdfs_server.cc
              tests/support/servers.cc tests/support/subprocess.cc)
  target_include_directories(forebay_test_support PUBLIC tests)
  forebay_define_folders(tests/support/hdfs_server.cc tests/support/servers.cc)
  target_link_libraries(forebay_test_support PUBLIC forebay_base forebay_http)
endif()
forebay_folder_if_there(http LINK forebay_base CURL::libcurl TEST_LINK forebay_test_support)
forebay_folder_if_there(source ARROW UNITY LINK forebay_model forebay_http forebay_arrow_s3 nlohmann_json::nlohmann_json
                        TEST_LINK forebay_test_places)
if(FOREBAY_TESTS)
  add_library(forebay_test_places STATIC tests/support/source_place.cc)
  target_link_libraries(forebay_test_places PUBLIC forebay_source forebay_test_support)
  # HDFS takes most of a minute, so it runs beside the rest.
  set_tests_properties(source PROPERTIES ENVIRONMENT "GTEST_FILTER=-*Hdfs*")
  add_test(NAME source_hdfs COMMAND source_test)
  set_tests_properties(source_hdfs PROPERTIES TIMEOUT 600 LABELS minute
                       ENVIRONMENT "GTEST_FILTER=*Hdfs*")
endif()
find_package(SQLite3 REQUIRED)
forebay_folder_if_there(sqlite LINK forebay_base SQLite::SQLite3)
forebay_folder_if_there(leases LINK forebay_model forebay_plan forebay_sqlite)
forebay_folder_if_there(table/avro ARROW UNITY LINK forebay_base nlohmann_json::nlohmann_json)
forebay_folder_if_there(table/iceberg ARROW UNITY LINK forebay_model forebay_table_avro nlohmann_json::nlohmann_json
                        TEST_LINK forebay_test_support)
option(FOREBAY_FUZZ "Build the fuzzers too, with clang (tools/fuzz runs them)" OFF)
if(FOREBAY_FUZZ)
  add_custom_target(fuzzers ALL COMMAND ${CMAKE_SOURCE_DIR}/tools/fuzz --build)
endif()
forebay_folder_if_there(table/filter ARROW UNITY LINK forebay_model forebay_table_iceberg)
if(TARGET table_filter_test)
  target_sources(table_filter_test PRIVATE tests/fuzz/filter_fuzz.cc)
endif()
forebay_folder_if_there(table/catalog ARROW UNITY LINK forebay_http forebay_source forebay_sqlite
                        nlohmann_json::nlohmann_json TEST_LINK forebay_test_support)
forebay_folder_if_there(table/by_id ARROW UNITY LINK forebay_model forebay_table_iceberg nlohmann_json::nlohmann_json)
forebay_folder_if_there(table/files ARROW UNITY LINK forebay_model forebay_source forebay_table_avro)
forebay_folder_if_there(table ARROW UNITY LINK forebay_table_files forebay_table_by_id)
forebay_folder_if_there(table/live ARROW UNITY LINK forebay_table forebay_table_filter)
forebay_folder_if_there(table/dataset ARROW UNITY LINK forebay_table_live forebay_table_catalog)
forebay_folder_if_there(files ARROW UNITY LINK forebay_source)
if(FOREBAY_TESTS)
  # Makes manifests of trees for tests of those who only read them.
  add_library(forebay_test_trees STATIC tests/support/files_tree.cc)
  target_include_directories(forebay_test_trees PUBLIC tests)
  target_link_libraries(forebay_test_trees PUBLIC forebay_files)
endif()
forebay_folder_if_there(wire LINK forebay_model)
forebay_folder_if_there(meta LINK forebay_model forebay_sqlite forebay_http nlohmann_json::nlohmann_json
                        TEST_LINK forebay_test_support)
forebay_folder_if_there(cluster LINK forebay_plan forebay_meta forebay_wire forebay_http
                        nlohmann_json::nlohmann_json TEST_LINK forebay_test_support)
forebay_folder_if_there(reader/environment LINK forebay_model)
forebay_folder_if_there(reader LINK forebay_model forebay_plan forebay_wire
                        forebay_reader_environment)
forebay_folder_if_there(reader/batches LINK forebay_reader)
forebay_folder_if_there(reader/request LINK forebay_reader_batches)
forebay_folder_if_there(reader/files LINK forebay_reader)
forebay_folder_if_there(fuse LINK forebay_reader_files TEST_LINK forebay_test_trees)
forebay_folder_if_there(flight ARROW UNITY LINK forebay_reader_request forebay_table forebay_arrow_flight
                        nlohmann_json::nlohmann_json)
forebay_folder_if_there(cache ARROW UNITY LINK forebay_storage forebay_source forebay_table_dataset forebay_files
                        forebay_plan)
forebay_folder_if_there(node/peers ARROW LINK forebay_cluster forebay_flight)
forebay_folder_if_there(node ARROW UNITY LINK forebay_cache forebay_wire forebay_cluster forebay_flight
                        forebay_node_peers nlohmann_json::nlohmann_json)
forebay_folder_if_there(head ARROW UNITY LINK forebay_cluster forebay_storage forebay_files forebay_table_dataset
                        TEST_LINK forebay_test_support)
forebay_folder_if_there(kubeflow ARROW UNITY LINK forebay_head forebay_flight)
forebay_folder_if_there(cli VERBS UNITY LINK forebay_reader_batches forebay_storage forebay_cluster
                        nlohmann_json::nlohmann_json)
# Its verbs are in the table of all verbs, and use what that folder has for every verb.
forebay_folder_if_there(cli/cluster VERBS LINK forebay_cli)
target_link_libraries(forebay_cli PUBLIC forebay_cli_cluster)
forebay_folder_if_there(cli/node VERBS LINK forebay_cli)
target_link_libraries(forebay_cli PUBLIC forebay_cli_node)
forebay_folder_if_there(cli/files VERBS LINK forebay_cli forebay_reader_files forebay_storage_shared
                        forebay_fuse TEST_LINK forebay_test_trees)
target_link_libraries(forebay_cli PUBLIC forebay_cli_files)
if(FOREBAY_TESTS)
  # The longest start first, so that nothing waits for one of them at the end.
  set_tests_properties(source_hdfs source cache plan_exhaustive node head flight
                       PROPERTIES COST 100)
endif()
# The programs. The command line links no Arrow (docs/adr/0006-two-programs.md).
function(forebay_program name main)
  add_executable(${name} src/app/${main})
  target_link_libraries(${name} PRIVATE ${ARGN})
  forebay_precompile(${name} VERBS)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endfunction()
forebay_program(forebay forebay_main.cc forebay_cli)
# What it does not call is not loaded: curl and SQLite would take longer than the rest.
target_link_options(forebay PRIVATE -Wl,--as-needed)
forebay_program(forebay-head head_main.cc forebay_head forebay_cli)
forebay_program(forebay-node node_main.cc forebay_node forebay_head forebay_cli)
forebay_program(forebay-mount mount_main.cc forebay_fuse forebay_cli)
target_link_options(forebay-mount PRIVATE -Wl,--as-needed)
forebay_program(forebay-kubeflow kubeflow_main.cc forebay_kubeflow forebay_cli)
if(FOREBAY_BENCH)
  add_subdirectory(bench)
endif()
if(FOREBAY_PYTHON)
  add_subdirectory(python)
endif()
