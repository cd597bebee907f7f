# A Debian package of the program with a systemd unit, built by CPack. `tools/package` builds it, the tarball and the
# container root from one installation, `cmake --install BUILD --component daemon`.
# The same build produces the same bytes: all files have the time SOURCE_DATE_EPOCH and belong to root.
set(doc ${CMAKE_INSTALL_DATADIR}/doc/signalbox)
install(TARGETS signalbox RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT daemon)
install(FILES ${CMAKE_SOURCE_DIR}/deploy/systemd/signalbox.service DESTINATION lib/systemd/system COMPONENT daemon)
# An absolute path, because /etc is not under the prefix.
install(FILES ${CMAKE_SOURCE_DIR}/deploy/systemd/config.yaml DESTINATION /etc/signalbox COMPONENT daemon)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${doc} RENAME copyright COMPONENT daemon)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION ${doc} COMPONENT daemon FILES_MATCHING PATTERN "*.md")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/deploy/config ${CMAKE_SOURCE_DIR}/deploy/envoy
    ${CMAKE_SOURCE_DIR}/deploy/integrations ${CMAKE_SOURCE_DIR}/deploy/scale
  DESTINATION ${doc}/examples COMPONENT daemon
  PATTERN .signalbox EXCLUDE)  # the tokens of routers that ran here

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME signalbox)
set(CPACK_PACKAGE_VENDOR Signalbox)
set(CPACK_PACKAGE_CONTACT "Signalbox <maintainers@signalbox.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "router for language models")
set(CPACK_PACKAGE_DESCRIPTION "Understands each request on the CPU, decides by rules which model answers, and streams its
 answer. Takes the configuration of the vLLM Semantic Router as it is.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL daemon)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS ca-certificates)
if(CMAKE_CROSSCOMPILING)
  # tools/package reads the folder of the libraries, and dpkg-shlibdeps finds them there.
  get_filename_component(CPACK_SYSROOT ${CMAKE_SYSROOT} ABSOLUTE)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    ${CPACK_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} ${CPACK_SYSROOT}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "curl, npm")
if(SIGNALBOX_OPENBLAS)
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", libopenblas0-pthread")
endif()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(debian ${CMAKE_SOURCE_DIR}/deploy/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)
include(CPack)
