# fmt and spdlog, compiled once from their headers and linked statically. Debian has only
# shared libraries of them, which other machines lack: a wheel must not need them. (Header
# only use would cost seconds in every file that formats a string.)
add_library(forebay_fmt STATIC cmake/formatting/fmt.cc)
target_compile_definitions(forebay_fmt PUBLIC FMT_SHARED)  # declared, not inline
target_include_directories(forebay_fmt PUBLIC cmake)       # formatting/compiled_once.h
add_library(forebay_spdlog STATIC cmake/formatting/spdlog.cc)
target_compile_definitions(forebay_spdlog PUBLIC
  SPDLOG_SHARED_LIB SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL
  PRIVATE spdlog_EXPORTS)
target_link_libraries(forebay_spdlog PUBLIC forebay_fmt Threads::Threads)
