# The engine for other programs: libsignalbox contains the rooms below the router in one file, without the log, which
# they do not use. `cmake --install build/release --component library --prefix DIR` installs it with the headers of its
# C and C++ interfaces and a CMake package: find_package(signalbox), signalbox::signalbox. libsignalbox.so is linked from
# the same objects and exports the C interface alone, for languages that load a library at run time.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(objects "")
foreach(room base kernels weights tokenizer engine)
  list(APPEND objects $<TARGET_OBJECTS:signalbox_${room}>)
endforeach()
set(objects "$<FILTER:${objects},EXCLUDE,/log\\.cc>")
set(libraries simdjson::simdjson TBB::tbb re2 utf8proc)
add_library(signalbox_lib STATIC ${objects})
set_target_properties(signalbox_lib PROPERTIES OUTPUT_NAME signalbox EXPORT_NAME signalbox LINKER_LANGUAGE CXX)
target_compile_features(signalbox_lib INTERFACE cxx_std_20)
target_link_libraries(signalbox_lib PUBLIC fmt::fmt tl::expected Threads::Threads PRIVATE ${libraries})
# The headers include each other relative to the second directory.
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/signalbox)
target_include_directories(signalbox_lib INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${headers}>)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/signalbox)
install(TARGETS signalbox_lib EXPORT signalboxTargets COMPONENT library)
install(FILES ${CMAKE_SOURCE_DIR}/engine/signalbox.h DESTINATION ${headers} COMPONENT library)
install(FILES ${CMAKE_SOURCE_DIR}/engine/engine.h ${CMAKE_SOURCE_DIR}/engine/patience.h
    ${CMAKE_SOURCE_DIR}/engine/scheduler.h DESTINATION ${headers}/engine
  COMPONENT library)
install(FILES ${CMAKE_SOURCE_DIR}/base/error.h DESTINATION ${headers}/base COMPONENT library)
install(EXPORT signalboxTargets NAMESPACE signalbox:: DESTINATION ${package} COMPONENT library)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/signalboxConfig.cmake.in
  ${CMAKE_BINARY_DIR}/package/signalboxConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/signalboxConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/signalboxConfig.cmake ${CMAKE_BINARY_DIR}/package/signalboxConfigVersion.cmake
  DESTINATION ${package} COMPONENT library)

# Sanitized objects are not position-independent.
if(NOT SIGNALBOX_SANITIZE)
  add_library(signalbox_shared SHARED ${objects})
  set_target_properties(signalbox_shared PROPERTIES OUTPUT_NAME signalbox LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exported_symbols.txt)
  target_link_options(signalbox_shared PRIVATE
    -Wl,--no-undefined -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exported_symbols.txt)
  target_link_libraries(signalbox_shared PRIVATE fmt::fmt Threads::Threads ${libraries})
  install(TARGETS signalbox_shared COMPONENT library)
endif()
