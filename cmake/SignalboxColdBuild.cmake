# Options that speed up a build from scratch. All presets use both, except `debug` and `package`. With either option a
# file that lacks an include can still compile through the includes of other files; those two presets detect that.

# The most common includes of the standard library, fmt, Asio and GoogleTest are parsed once per preset instead of once
# per file, which saves a quarter of the compile time. The project's own headers are not precompiled, so changing one
# recompiles only the files that include it.
option(SIGNALBOX_PCH "Precompile the most common headers" OFF)

# The files of a library are compiled in groups of this size through a file that includes them. Their includes are then
# parsed, and their inline functions compiled, once per group. Two files of a library may therefore not define the same
# name, even in anonymous namespaces. Large groups suit a build from scratch, groups of ten daily work; 0 disables them.
set(SIGNALBOX_UNITY 0 CACHE STRING "Compile the files of a library in groups of this size")

# Libraries that `joined` lists together are compiled as one file. Their names remain as aliases of the joined library. This
# saved 30 % of the processor time of the eight libraries that were measured, but a change then recompiles all of a group.
option(SIGNALBOX_JOIN "Compile several rooms as one file" OFF)

# joined(NAME ROOM ...): rooms that are compiled with the same options and may be compiled as one file.
macro(joined name)
  set(joined_in_${name} "")
  foreach(room ${ARGN})
    list(APPEND joined_in_${name} signalbox_${room})
    set(joined_signalbox_${room} ${name})
  endforeach()
endmacro()

set(precompiled_common <algorithm> <array> <atomic> <charconv> <chrono> <deque> <filesystem> <fmt/core.h> <fstream>
  <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread>
  <tl/expected.hpp> <unordered_map> <utility> <variant> <vector>)
set(precompiled_asio <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp> <boost/asio/basic_waitable_timer.hpp>
  <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/use_awaitable.hpp>)

if(CCACHE)
  # Clones of the tree share the cache: paths are relative to the source directory, and a precompiled header counts by
  # the versions of what it includes (precompiled_owner), because its bytes differ from clone to clone.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
if(SIGNALBOX_PCH AND CCACHE)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  else()
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

# precompiled_owner(name [COMPUTES] HEADERS <a> ... LINKS other ...): a target without code whose precompiled headers others reuse.
# Compilers accept them only with the same options.
function(precompiled_owner name)
  cmake_parse_arguments(arg "COMPUTES" "" "HEADERS;LINKS" ${ARGN})
  if(SIGNALBOX_PCH)
    file(CONFIGURE OUTPUT ${name}.cc CONTENT "// Only carries precompiled headers.\n")
    add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
    target_link_libraries(${name} PRIVATE fmt::fmt tl::expected simdjson::simdjson ${arg_LINKS} signalbox_flags)
    target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
    optimise(${name} "${arg_COMPUTES}")
    # ccache would store the header with paths of this clone.
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
    set(header ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx)
    string(SHA256 sum "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${fmt_VERSION} ${tl-expected_VERSION}
      ${simdjson_VERSION} ${Boost_VERSION} ${GTest_VERSION} ${arg_HEADERS}")
    foreach(suffix gch pch)
      file(CONFIGURE OUTPUT ${header}.${suffix}.sum CONTENT "${sum}\n")
    endforeach()
  endif()
endfunction()

# precompiled(name OWNER): the target's files begin with the owner's headers. OWNER can be none.
function(precompiled name owner)
  if(NOT SIGNALBOX_PCH OR owner STREQUAL "none")
    return()
  endif()
  target_precompile_headers(${name} REUSE_FROM ${owner})
  # With precompiled headers, g++ 12 reports false out-of-bounds warnings for inlined copies of short strings.
  target_compile_options(${name} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")
endfunction()

# unity(name): compiles the target's files in groups; files with their own options are compiled separately.
function(unity name)
  if(SIGNALBOX_UNITY GREATER 0)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${SIGNALBOX_UNITY})
    # g++ treats the included files as headers and warns about their anonymous namespaces.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
