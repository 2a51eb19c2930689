# Arrow C++ 26: an installed one where CMake finds it, else the headers and libraries of
# the pyarrow wheel in .venv. Target forebay_arrow carries core, compute and Parquet;
# forebay_arrow_s3 adds the S3 library, forebay_arrow_flight Flight (with its own gRPC).
find_package(Arrow 26 QUIET)
find_package(Parquet 26 QUIET)
find_package(ArrowFlight 26 QUIET)
add_library(forebay_arrow INTERFACE)
add_library(forebay_arrow_s3 INTERFACE)
add_library(forebay_arrow_flight INTERFACE)
if(Arrow_FOUND AND Parquet_FOUND AND ArrowFlight_FOUND)
  target_link_libraries(forebay_arrow INTERFACE Arrow::arrow_shared Parquet::parquet_shared)
  if(TARGET ArrowCompute::arrow_compute_shared)
    target_link_libraries(forebay_arrow INTERFACE ArrowCompute::arrow_compute_shared)
  endif()
  target_link_libraries(forebay_arrow_flight INTERFACE ArrowFlight::arrow_flight_shared)
else()
  set(FOREBAY_PYTHON_EXE "${CMAKE_SOURCE_DIR}/.venv/bin/python" CACHE FILEPATH
      "The Python whose pyarrow wheel gives Arrow")
  execute_process(
    COMMAND ${FOREBAY_PYTHON_EXE} -c "import pyarrow; print(pyarrow.__path__[0])"
    OUTPUT_VARIABLE wheel OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "Arrow C++ was not found: run 'make setup' first")
  endif()
  set(FOREBAY_ARROW_DIR "${wheel}" CACHE INTERNAL "")
  target_include_directories(forebay_arrow SYSTEM INTERFACE ${wheel}/include)
  target_link_libraries(forebay_arrow INTERFACE
    ${wheel}/libarrow.so.2600 ${wheel}/libparquet.so.2600 ${wheel}/libarrow_compute.so.2600)
  target_link_options(forebay_arrow INTERFACE -Wl,-rpath,${wheel})
  target_link_libraries(forebay_arrow_s3 INTERFACE ${wheel}/libarrow_s3.so.2600)
  target_link_libraries(forebay_arrow_flight INTERFACE ${wheel}/libarrow_flight.so.2600)
endif()
target_link_libraries(forebay_arrow_s3 INTERFACE forebay_arrow)
target_link_libraries(forebay_arrow_flight INTERFACE forebay_arrow)
