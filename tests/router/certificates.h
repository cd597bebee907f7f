#pragma once
// A certificate authority for tests with certificates that it has signed. The openssl command makes
// them once per process, and they are removed with the process.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace signalbox::test {

/// The files are PEM: ca.pem; stranger.pem, an authority that has signed nothing; and NAME.pem with
/// NAME.key for "localhost", "elsewhere" (elsewhere.test), "address" (127.0.0.1) and "client".
class Certificates {
 public:
  static const Certificates& all() {
    static const Certificates made;
    return made;
  }
  /// The reason for GTEST_SKIP, or "" if the files exist.
  static std::string missing() { return all().made_ ? "" : "openssl is not installed"; }
  static std::string path(std::string_view name) { return (all().folder_ / name).string(); }

 private:
  Certificates()
      : folder_(std::filesystem::path(testing::TempDir()) / fmt::format("tls{}", ::getpid())) {
    std::filesystem::create_directories(folder_);
    made_ = run(
        "authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
        "-keyout "
        "$1.key -out $1.pem -days 2 -subj /CN=$1; }; "
        "issue() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $1.key "
        "-out $1.asked -subj /CN=$1 && echo subjectAltName=$2 > $1.names && openssl x509 -req -in "
        "$1.asked -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $1.names -out $1.pem; "
        "}; authority ca && authority stranger && issue localhost DNS:localhost && "
        "issue elsewhere DNS:elsewhere.test && issue address IP:127.0.0.1 && issue client "
        "DNS:client.test");
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }

  bool run(std::string_view script) const {
    const std::string command =
        fmt::format("cd {} && exec 2>/dev/null >/dev/null && {}", folder_.string(), script);
    return std::system(command.c_str()) == 0;
  }

  std::filesystem::path folder_;
  bool made_ = false;
};

}  // namespace signalbox::test
