# Read by CMake right after llama.cpp's own project() call (CMAKE_PROJECT_llama.cpp_INCLUDE).
# llama-cpp-python forces the "common" library on; we use only libllama and ggml through the C API,
# and common with its HTTP client is 44 % of the compile time.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)
