# Read by CMake right after llama.cpp's own project() call (CMAKE_PROJECT_llama.cpp_INCLUDE).

# llama-cpp-python forces the "common" library on; we use only libllama and ggml through the C API,
# and common with its HTTP client is 44 % of the compile time.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)

# GCC before 11.5, 12.4, 13.3 and 14 lets _tile_loadconfig read a configuration whose stores it has
# removed (GCC bug 114098), so that llama.cpp's AMX kernels crash at the first prompt. AVX-512 then
# does the work.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(_gcc ${CMAKE_C_COMPILER_VERSION})
  if((_gcc VERSION_GREATER_EQUAL 11 AND _gcc VERSION_LESS 11.5)
      OR (_gcc VERSION_GREATER_EQUAL 12 AND _gcc VERSION_LESS 12.4)
      OR (_gcc VERSION_GREATER_EQUAL 13 AND _gcc VERSION_LESS 13.3))
    add_compile_options(-mno-amx-tile -mno-amx-int8 -mno-amx-bf16)
  endif()
endif()
