# Installs the library into an empty folder, builds examples/ against the installation, and compares the examples' output
# with the results of this tree's own engine.
#   cmake -D SOURCE=... -D BUILD=... -D MAKE_MODEL=... -D WORK=... -D CXX_COMPILER=... -P installed.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\nfailed (${status}):\n${out}")
  endif()
endfunction()

# expect(OUTPUT_FILE PROGRAM ARGUMENT...)
function(expect expected)
  file(READ ${expected} wanted)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE errors)
  if(NOT status EQUAL 0 OR wanted STREQUAL "" OR NOT out STREQUAL wanted)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nexit status ${status}, expected:\n${wanted}found:\n${out}${errors}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${WORK}/installed)
run(${CMAKE_COMMAND} -S ${SOURCE}/examples -B ${WORK}/examples -DCMAKE_PREFIX_PATH=${WORK}/installed -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
run(${CMAKE_COMMAND} --build ${WORK}/examples)

set(query "my name is ada")
set(text "call bob at noon")
run(${MAKE_MODEL} ${WORK}/models ${query} ${text})
foreach(model scores spans)
  set(model ${WORK}/models/${model})
  expect(${model}/embed.expected ${WORK}/examples/embed ${model} ${query} ${text})
  expect(${model}/classify.expected ${WORK}/examples/classify ${model} ${query} ${text})
  expect(${model}/classify.expected ${WORK}/examples/answer ${model} ${query} ${text})
endforeach()
set(reranker ${WORK}/models/ranks)
expect(${reranker}/rerank.expected ${WORK}/examples/rerank ${reranker} ${query} ${text} ${query})
expect(${reranker}/search.expected ${WORK}/examples/search ${WORK}/models/scores ${reranker} ${query} ${text} ${query})

# Python loads the shared library at run time.
file(GLOB shared ${WORK}/installed/lib*/libsignalbox.so ${WORK}/installed/lib*/*/libsignalbox.so)
find_program(python python3 REQUIRED)
foreach(model scores spans)
  set(model ${WORK}/models/${model})
  expect(${model}/python.expected ${CMAKE_COMMAND} -E env SIGNALBOX_LIBRARY=${shared}
    ${python} ${SOURCE}/examples/signalbox.py ${model} ${query} ${text})
endforeach()
# The library cannot count the second texts, so the module does.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env SIGNALBOX_LIBRARY=${shared} PYTHONPATH=${SOURCE}/examples ${python} -B -c
    "import signalbox; signalbox.Model('${WORK}/models/scores').answer(['a', 'b'], ['c'])"
  RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 1 OR NOT errors MATCHES "ValueError: 1 pairs for 2 texts")
  message(FATAL_ERROR "two texts and one pair in Python: exit status ${status}: ${errors}")
endif()

execute_process(COMMAND ${WORK}/examples/embed ${WORK}/nothing a b RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 1 OR NOT errors STREQUAL "open: ${WORK}/nothing/config.json: No such file or directory\n")
  message(FATAL_ERROR "embed without a model: exit status ${status}: ${errors}")
endif()
file(REMOVE_RECURSE ${WORK})
