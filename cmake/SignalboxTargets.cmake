# The way in which every target of the project is compiled: include paths from the root, warnings as errors, and the preset's
# sanitizers. Rooms call signalbox_library, tests signalbox_test, fuzz targets signalbox_fuzz.

add_library(signalbox_flags INTERFACE)
target_include_directories(signalbox_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(signalbox_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Werror)
# g++ starts garbage collection at 400 MB instead of 128. This saves a tenth of the time for less than 200 MB per file.
target_compile_options(signalbox_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=400000>)
target_compile_definitions(signalbox_flags INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # char is unsigned on arm64. With this option a comparison or conversion means the same on every processor.
  target_compile_options(signalbox_flags INTERFACE -fsigned-char)
endif()
if(SIGNALBOX_FUZZ)
  target_compile_options(signalbox_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SIGNALBOX_SANITIZE)
  set(sanitize -fsanitize=${SIGNALBOX_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # With sanitizers, g++ 12 reports false uses of uninitialised values in the inserted instructions.
  target_compile_options(signalbox_flags INTERFACE ${sanitize} $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(signalbox_flags INTERFACE ${sanitize})
  # Without relocations, a program of 170 MB starts in two thirds of the processor time, and tests start it often.
  target_compile_options(signalbox_flags INTERFACE -fno-pie)
  target_link_options(signalbox_flags INTERFACE -no-pie)
  # g++ and clang have different ways to detect it.
  if(SIGNALBOX_SANITIZE MATCHES "thread")
    target_compile_definitions(signalbox_flags INTERFACE SIGNALBOX_THREAD_SANITIZER)
  endif()
  # Takes a fifth of the time of the system's linker for programs of 200 MB.
  find_program(LLD ld.lld)
  if(LLD)
    target_link_options(signalbox_flags INTERFACE -fuse-ld=lld)
  endif()
else()
  # The shared library is linked from the same objects as the program. The second option keeps their speed: functions may
  # be inlined although another library could replace them.
  target_compile_options(signalbox_flags INTERFACE -fPIC -fno-semantic-interposition)
endif()

# clang 14 cannot compile coroutines with the check of function types, a part of -fsanitize=undefined. The option
# applies to the whole target, because sources with their own options are excluded from unity builds. It is an interface
# target, so that its options come last. Sets `spared` to whether the target NAME is compiled without the check.
add_library(signalbox_coroutines INTERFACE)
target_compile_options(signalbox_coroutines INTERFACE -fno-sanitize=function)
function(spare_coroutines name)
  set(spared OFF PARENT_SCOPE)
  if(NOT SIGNALBOX_SANITIZE MATCHES "undefined" OR NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  foreach(source ${ARGN})
    # Either in the file itself or in headers that it may include.
    file(STRINGS ${source} found LIMIT_COUNT 1
      REGEX "co_(await|return|yield)|include \"(router/(http|upstream|gateway|access|serving|admin|extproc|stores)|tests/router/net)/")
    if(found)
      set(spared ON PARENT_SCOPE)
      target_link_libraries(${name} PRIVATE signalbox_coroutines)
      return()
    endif()
  endforeach()
endfunction()

# signalbox_library(name [COMPUTES] SOURCES a.cc ... LINKS other ... [PRIVATE other ...] [PRECOMPILED owner]): a room, or a
# part of one with its own dependency. COMPUTES: its loops take a measurable share of a request, so it gets one more level
# of optimisation than the rest: -O2 instead of -O1 in a release, -O1 instead of -O0 under sanitizers.
function(signalbox_library name)
  cmake_parse_arguments(arg "COMPUTES" "PRECOMPILED" "SOURCES;LINKS;PRIVATE" ${ARGN})
  set(target ${name})
  if(SIGNALBOX_JOIN AND joined_${name})
    set(target ${joined_${name}})
    list(REMOVE_ITEM arg_LINKS ${joined_in_${target}})
  endif()
  if(arg_COMPUTES AND NOT arg_PRECOMPILED STREQUAL "none")
    set(arg_PRECOMPILED precompiled_computes)
  elseif(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED precompiled_std)
  endif()
  if(NOT TARGET ${target})
    add_library(${target} STATIC ${arg_SOURCES})
    target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
    optimise(${target} "${arg_COMPUTES}")
    precompiled(${target} ${arg_PRECOMPILED})
    unity(${target})
  else()
    target_sources(${target} PRIVATE ${arg_SOURCES})
  endif()
  target_link_libraries(${target} PUBLIC ${arg_LINKS} PRIVATE signalbox_flags ${arg_PRIVATE})
  spare_coroutines(${target} ${arg_SOURCES})
  if(NOT target STREQUAL name)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
    add_library(${name} ALIAS ${target})
    # The options of one of the rooms would otherwise apply to all.
    set(options "COMPUTES ${arg_COMPUTES}, PRECOMPILED ${arg_PRECOMPILED}, without the check of function types ${spared}")
    get_target_property(others ${target} joined_options)
    if(others AND NOT others STREQUAL options)
      message(FATAL_ERROR "${name} cannot join ${target}: its options are \"${options}\", the others' are \"${others}\"")
    endif()
    set_target_properties(${target} PROPERTIES joined_options "${options}")
  endif()
endfunction()

# optimise(name computes): the level of optimisation of a library, see above.
function(optimise name computes)
  if(NOT computes)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(SIGNALBOX_SANITIZE)
    target_compile_options(${name} PRIVATE -O1)
  endif()
endfunction()

# Most tests are compiled with little or no optimisation, because they run briefly and are compiled often. With
# precompiled headers there is none: g++ 12 at -O1 then warns falsely about `std::string + "literal"` writing out of
# bounds.
function(compile_fast name)
  if(SIGNALBOX_SANITIZE OR SIGNALBOX_PCH)
    target_compile_options(${name} PRIVATE -O0)
  else()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# The tests whose results depend on the optimisation, or that a sanitizer would make too slow. tools/check builds this
# target and runs the label `optimised` in a release; the other tests run there only under the sanitizers.
add_custom_target(optimised_tests)
function(runs_optimised test)
  set_property(TEST ${test} APPEND PROPERTY LABELS optimised)
endfunction()

# ctest counts in halves of a processor: `ctest --parallel 4` keeps two processors busy. A test that computes takes two
# halves, one that mostly waits takes one.
function(takes_processor test)
  set_tests_properties(${test} PROPERTIES PROCESSORS 2)
endfunction()

# signalbox_test(name [THREADS [filter]] [SANITIZED filter] [OPTIMISED] [COMPUTES] [LONG] [WAITS] [SHARDS n] SOURCES
# a_test.cc ... LINKS room ...): one GoogleTest binary and one ctest entry. THREADS: the tests (or those matching the filter) start threads. The
# thread sanitizer's preset contains only these. SANITIZED: the tests that run under a sanitizer; the others only measure
# figures or time on code that those tests cover too. OPTIMISED, implied by SANITIZED and COMPUTES: see optimised_tests.
# COMPUTES: compiled like a library, except under sanitizers, because the tests would otherwise take long. LONG: ctest
# starts it first, so that no processor idles at the end. WAITS: it mostly waits for other processes, so two of them may
# share a processor (see takes_processor). SHARDS: as many ctest entries, each with a part of the tests.
function(signalbox_test name)
  cmake_parse_arguments(arg "COMPUTES;LONG;OPTIMISED;WAITS" "SANITIZED;SHARDS" "SOURCES;LINKS;THREADS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gtest_main signalbox_flags)
  spare_coroutines(${name} ${arg_SOURCES})
  target_compile_definitions(${name} PRIVATE SIGNALBOX_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(SIGNALBOX_SANITIZE OR NOT arg_COMPUTES)
    compile_fast(${name})
    if(arg_LINKS MATCHES "net_test_support|gateway_test_support")
      precompiled(${name} precompiled_net_test)
    else()
      precompiled(${name} precompiled_test)
    endif()
    unity(${name})
  endif()
  if(SIGNALBOX_THREADS_ONLY AND NOT "THREADS" IN_LIST ARGN)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  set(filter "*")
  if(SIGNALBOX_THREADS_ONLY AND arg_THREADS)
    set(filter ${arg_THREADS})
  elseif(SIGNALBOX_SANITIZE AND arg_SANITIZED)
    set(filter ${arg_SANITIZED})
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    set(entry ${name})
    if(arg_SHARDS GREATER 1)
      string(APPEND entry "_${shard}_of_${arg_SHARDS}")
    endif()
    add_test(NAME ${entry} COMMAND ${name} --gtest_brief=1 --gtest_filter=${filter}
      --gtest_output=json:${CMAKE_BINARY_DIR}/results/${entry}.json)
    math(EXPR index "${shard} - 1")
    set_tests_properties(${entry} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
    if(NOT arg_WAITS)
      takes_processor(${entry})
    endif()
    if(arg_LONG)
      set_tests_properties(${entry} PROPERTIES COST 100)
    endif()
    if(arg_OPTIMISED OR arg_COMPUTES OR arg_SANITIZED)
      runs_optimised(${entry})
    endif()
  endforeach()
  if(arg_OPTIMISED OR arg_COMPUTES OR arg_SANITIZED)
    add_dependencies(optimised_tests ${name})
  endif()
endfunction()

# Sources in which tests recompute results by the formulas in double precision. They are compiled without sanitizers,
# which could only find mistakes in the tests and would take most of the running time.
function(spare_oracle)
  if(SIGNALBOX_SANITIZE)
    set_property(SOURCE ${ARGV} APPEND PROPERTY COMPILE_OPTIONS -O2 -fno-sanitize=all)
  endif()
endfunction()

# signalbox_fuzz(name_fuzz [SOURCE file] [CORPUS dir] LINKS room ...): under the fuzz preset a libFuzzer target, by default
# of fuzz/name_fuzz.cc with the corpus fuzz/name. Its ctest entry runs it for SIGNALBOX_FUZZ_SECONDS starting from the
# corpus. New inputs stay in the build tree and are used again in the next run. Under every other preset ctest replays
# the corpus with the program of signalbox_fuzz_replay.
set(SIGNALBOX_FUZZ_SECONDS 2 CACHE STRING "How long ctest runs each fuzz target")
function(signalbox_fuzz name)
  cmake_parse_arguments(arg "" "SOURCE;CORPUS" "LINKS" ${ARGN})
  if(NOT arg_SOURCE)
    set(arg_SOURCE fuzz/${name}.cc)
  endif()
  if(NOT arg_CORPUS)
    string(REGEX REPLACE "_fuzz$" "" folder ${name})
    set(arg_CORPUS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${folder})
  endif()
  if(SIGNALBOX_FUZZ)
    add_executable(${name} ${arg_SOURCE})
    target_link_libraries(${name} PRIVATE signalbox_custom_mutator)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(found ${CMAKE_BINARY_DIR}/found/${name})
    file(MAKE_DIRECTORY ${found})
    add_test(NAME ${name} COMMAND ${name} -max_total_time=${SIGNALBOX_FUZZ_SECONDS} -timeout=10
      -verbosity=0 -print_final_stats=1 -artifact_prefix=${found}/ ${found} ${arg_CORPUS})
    set_tests_properties(${name} PROPERTIES LABELS fuzz)
    target_link_libraries(${name} PRIVATE ${arg_LINKS} signalbox_flags)
    spare_coroutines(${name} ${arg_SOURCE})
    target_compile_definitions(${name} PRIVATE SIGNALBOX_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  elseif(NOT SIGNALBOX_THREADS_ONLY)
    set_property(GLOBAL APPEND PROPERTY replayed_names ${name})
    file(RELATIVE_PATH source ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SOURCE})
    set_property(GLOBAL APPEND PROPERTY replayed_sources ${source})
    set_property(GLOBAL APPEND PROPERTY replayed_links ${arg_LINKS})
    add_test(NAME ${name}_corpus COMMAND fuzz_replay ${name} ${arg_CORPUS})
  endif()
endfunction()

# signalbox_fuzz_replay(main.cc): the program that replays the corpora of all targets. Its one generated file
# includes their sources, so that each header is compiled, and each room linked, once instead of once per target.
function(signalbox_fuzz_replay source)
  get_property(names GLOBAL PROPERTY replayed_names)
  get_property(sources GLOBAL PROPERTY replayed_sources)
  get_property(links GLOBAL PROPERTY replayed_links)
  list(REMOVE_DUPLICATES links)
  set(code "")
  foreach(name included IN ZIP_LISTS names sources)
    string(APPEND code "#define LLVMFuzzerTestOneInput ${name}\n#include \"${included}\"\n#undef LLVMFuzzerTestOneInput\n")
  endforeach()
  string(APPEND code "#define FUZZ_TARGETS \\\n  {")
  foreach(name ${names})
    string(APPEND code "{\"${name}\", ${name}}, ")
  endforeach()
  string(APPEND code "}\n#include \"${source}\"\n")
  file(CONFIGURE OUTPUT fuzz_replay.cc CONTENT "${code}" @ONLY)
  add_executable(fuzz_replay ${CMAKE_CURRENT_BINARY_DIR}/fuzz_replay.cc)
  target_link_libraries(fuzz_replay PRIVATE ${links} signalbox_flags)
  list(TRANSFORM sources PREPEND ${CMAKE_SOURCE_DIR}/)
  spare_coroutines(fuzz_replay ${sources})
  target_compile_definitions(fuzz_replay PRIVATE SIGNALBOX_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  precompiled(fuzz_replay precompiled_std)
  # g++ 12 crashes in this pass.
  target_compile_options(fuzz_replay PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-ipa-cp>)
endfunction()
