# Headers that nearly every file reads are compiled once for each kind of file: with Arrow or
# without, product or test, verbs of the command line. forebay_precompile(TARGET KIND…) uses
# them; the kinds are ARROW, TEST and VERBS. No path of this checkout may stand in them: others
# find the same objects in the compiler cache.
set(headers
  <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <cstdint> <cstring>
  <deque> <filesystem> <fstream> <functional> <map> <memory> <mutex> <numeric> <optional>
  <random> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant>
  <vector>
  <spdlog/spdlog.h> <formatting/compiled_once.h>)
set(arrow_headers
  <arrow/api.h> <arrow/io/interfaces.h> <arrow/ipc/api.h> <parquet/arrow/reader.h>)
# Tests run for seconds and verbs for less, but each takes g++ long: less optimization pays.
# At -O1 g++ 12 warns of uninitialized variants and overrun strings where there are none.
set(forebay_quick_options -O1 -Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict
    -Wno-stringop-overflow -Wno-stringop-overread)

function(forebay_precompiled name)
  cmake_parse_arguments(arg "" "" "LINK;OPTIONS;HEADERS" ${ARGN})
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cc "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PUBLIC forebay_fmt forebay_spdlog ${arg_LINK})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()
forebay_precompiled(forebay_headers HEADERS ${headers})
forebay_precompiled(forebay_arrow_headers LINK forebay_arrow
                    HEADERS ${arrow_headers} ${headers})
forebay_precompiled(forebay_verb_headers LINK nlohmann_json::nlohmann_json
                    OPTIONS ${forebay_quick_options}
                    HEADERS <CLI/App.hpp> <nlohmann/json.hpp> ${headers})
if(FOREBAY_TESTS)
  forebay_precompiled(forebay_test_headers LINK GTest::gmock OPTIONS ${forebay_quick_options}
                      HEADERS <gtest/gtest.h> <gmock/gmock.h> ${headers})
  forebay_precompiled(forebay_arrow_test_headers LINK forebay_arrow GTest::gmock
                      OPTIONS ${forebay_quick_options}
                      HEADERS <gtest/gtest.h> <gmock/gmock.h> ${arrow_headers} ${headers})
endif()

function(forebay_precompile target)
  cmake_parse_arguments(arg "ARROW;TEST;VERBS" "" "" ${ARGN})
  set(from forebay_headers)
  if(arg_ARROW AND arg_TEST)
    set(from forebay_arrow_test_headers)
  elseif(arg_ARROW)
    set(from forebay_arrow_headers)
  elseif(arg_TEST)
    set(from forebay_test_headers)
  elseif(arg_VERBS)
    set(from forebay_verb_headers)
  endif()
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL EXECUTABLE)
    # The precompiled headers are position-independent; -fPIE would not match them.
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(arg_TEST OR arg_VERBS)
    target_compile_options(${target} PRIVATE ${forebay_quick_options})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${from})
endfunction()
