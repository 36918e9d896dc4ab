// A debuginfod server that accepts and never answers.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "loaded_module.h"
#include "support/catch.h"
#include "temp_folder.h"

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace

namespace {

// Listens on a port of its own; connections wait in the queue for ever.
class SilentServer {
 public:
  SilentServer() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(fd_.get(), generic, size) == 0);
    REQUIRE(::listen(fd_.get(), 16) == 0);
    REQUIRE(::getsockname(fd_.get(), generic, &size) == 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  const std::string& url() const { return url_; }

 private:
  labelscope::UniqueFd fd_;
  std::string url_;
};

bool has_debuginfod() {
  std::ifstream maps("/proc/self/maps");
  return std::string(std::istreambuf_iterator<char>(maps), {}).find("libdebuginfod") !=
         std::string::npos;
}

// As it is found without debug information; empty: objcopy is not there.
std::string stripped_probe(const TempFolder& folder) {
  const char* objcopy = LABELSCOPE_OBJCOPY;
  if (*objcopy == '\0') return {};
  std::string stripped = folder.path() + "/libprobe.so";
  std::string command =
      std::string("'") + objcopy + "' --strip-all '" LABELSCOPE_PROBE "' '" + stripped + "'";
  REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c): fixed words of this test
  return stripped;
}

LoadedModule loaded_from(const std::string& path) {
  LoadedModule loaded;
  loaded.module.kind = ProfileModule::Kind::kFile;
  loaded.module.path = path;
  loaded.file = open_module_file(path);
  return loaded;
}

}  // namespace

TEST_CASE("debug_files: libdebuginfod is not loaded where no server is named") {
  if (has_debuginfod()) skip_test("another test of this process has loaded it");
  TempFolder folder;
  const std::string stripped = stripped_probe(folder);
  if (stripped.empty()) skip_test("objcopy is not installed");
  ::unsetenv("DEBUGINFOD_URLS");
  Profile profile = symbolize_addresses(loaded_from(stripped), {0x10}, {});
  CHECK_FALSE(profile.modules[0].symbol_problem.empty());
  CHECK_FALSE(has_debuginfod());
}

TEST_CASE("debug_files: cancelling ends the wait for a debuginfod server that does not answer") {
  if (::dlopen("libdebuginfod.so.1", RTLD_LAZY) == nullptr)
    skip_test("libdebuginfod is not installed");
  TempFolder folder;
  const std::string stripped = stripped_probe(folder);
  if (stripped.empty()) skip_test("objcopy is not installed");

  SilentServer server;
  ::setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
  ::setenv("DEBUGINFOD_CACHE_PATH", folder.path().c_str(), 1);
  const LoadedModule loaded = loaded_from(stripped);
  SymbolizerOptions options;
  int asked = 0;
  options.cancelled = [&asked] { return ++asked > 2; };
  auto start = std::chrono::steady_clock::now();
  Profile profile = symbolize_addresses(loaded, {0x10}, options);
  auto taken = std::chrono::steady_clock::now() - start;
  ::unsetenv("DEBUGINFOD_URLS");
  CHECK(asked > 2);
  // libdebuginfod itself waits for a minute and a half.
  CHECK(taken < std::chrono::seconds(45));
  CHECK_FALSE(profile.modules[0].symbol_problem.empty());
}
