# What a build from nothing is spared. All presets have both but `debug` and `package`: either lets a file compile that leans
# on includes of others and lacks its own, which those two show.

# What most files include of the standard library, fmt, Asio and GoogleTest is parsed once a preset and not once a file, which
# is a quarter of the time of compiling. Headers of the project are not among them: who changes one compiles only what
# includes it.
option(SIGNALBOX_PCH "Precompile what most files include" OFF)

# The files of a library are compiled ten at a time, as one that includes them: what they include is parsed, and what they
# inline compiled, once for ten. So no two files of a library may define the same name, in anonymous namespaces either. Ten,
# so that two processors have something to do until the end.
option(SIGNALBOX_UNITY "Compile the files of a library several at a time" OFF)

set(precompiled_common <algorithm> <array> <atomic> <charconv> <chrono> <deque> <filesystem> <fmt/core.h> <fstream>
  <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread>
  <tl/expected.hpp> <unordered_map> <utility> <variant> <vector>)
set(precompiled_asio <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp> <boost/asio/basic_waitable_timer.hpp>
  <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/use_awaitable.hpp>)

if(SIGNALBOX_PCH AND CCACHE)
  # Else ccache stores nothing that has to do with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  else()
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

# precompiled_owner(name HEADERS <a> ... LINKS other ...): has no code, only headers for others to reuse. Compilers take them
# only where the options are the same.
function(precompiled_owner name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINKS" ${ARGN})
  if(SIGNALBOX_PCH)
    file(CONFIGURE OUTPUT ${name}.cc CONTENT "// Only carries precompiled headers.\n")
    add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
    target_link_libraries(${name} PRIVATE fmt::fmt tl::expected simdjson::simdjson ${arg_LINKS} signalbox_flags)
    target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  endif()
endfunction()

# precompiled(name OWNER): the target's files begin with the owner's headers. OWNER: none, or own for the common headers
# compiled with the target's own options.
function(precompiled name owner)
  if(NOT SIGNALBOX_PCH OR owner STREQUAL "none")
    return()
  elseif(owner STREQUAL "own")
    target_precompile_headers(${name} PRIVATE ${precompiled_common})
  else()
    target_precompile_headers(${name} REUSE_FROM ${owner})
  endif()
  # g++ 12 then takes copies of short strings, which it has inlined out of a precompiled header, for copies out of bounds.
  target_compile_options(${name} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")
endfunction()

# unity(name): the target's files are compiled several at a time, those apart that have options of their own.
function(unity name)
  if(SIGNALBOX_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    # g++ takes the files for headers, whose anonymous namespaces differ from one file to the next.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
