# Read by CMake as llama-cpp.cmake is, for llama.cpp's own programs: the same, with what they share.
include(${CMAKE_CURRENT_LIST_DIR}/llama-cpp.cmake)
set(LLAMA_BUILD_COMMON ON CACHE BOOL "" FORCE)
