// Tests debuginfod servers, one that accepts and never answers and one that sends in two parts; and
// the advice that names a package with debug files.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include "cli/symbol/debug_packages.h"
#include "cli/symbol/debuginfod.h"
#include "loaded_module.h"
#include "probe.h"
#include "support/catch.h"
#include "support/no_threads.h"
#include "support/paths.h"
#include "temp_folder.h"

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace

namespace {

// Listens on a port of its own. Connections wait in the queue until accept().
class Server {
 public:
  Server() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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
  int fd() const { return fd_.get(); }

 private:
  labelscope::UniqueFd fd_;
  std::string url_;
};

void use_server(const Server& server, const TempFolder& cache) {
  ::setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
  ::setenv("DEBUGINFOD_CACHE_PATH", cache.path().c_str(), 1);
}

// Sends one half of a file, and the rest when the test calls for it.
class SlowSender {
 public:
  SlowSender(const Server& server, const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    body_.assign(std::istreambuf_iterator<char>(file), {});
    sending_ = std::thread([this, fd = server.fd()] { send_on(fd); });
  }
  SlowSender(const SlowSender&) = delete;
  SlowSender& operator=(const SlowSender&) = delete;
  ~SlowSender() {
    go_on();
    sending_.join();
  }
  void go_on() {
    if (!told_.exchange(true)) tell_.set_value();
  }
  std::size_t size() const { return body_.size(); }
  // Returns the first line of the request, when everything is sent.
  const std::string& request() const { return request_; }

 private:
  static void send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void send_on(int listening) {
    const labelscope::UniqueFd client(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
    std::string asked;
    char byte = 0;
    while (!asked.ends_with("\r\n\r\n") && ::read(client.get(), &byte, 1) == 1) asked += byte;
    request_ = asked.substr(0, asked.find("\r\n"));
    send_all(client.get(), "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " +
                               std::to_string(body_.size()) + "\r\n\r\n");
    const std::string_view body = body_;
    send_all(client.get(), body.substr(0, body.size() / 2));
    tell_.get_future().wait();
    send_all(client.get(), body.substr(body.size() / 2));
  }

  std::string body_;
  std::string request_;
  std::atomic<bool> told_ = false;
  std::promise<void> tell_;
  std::thread sending_;
};

bool has_debuginfod() {
  std::ifstream maps("/proc/self/maps");
  return std::string(std::istreambuf_iterator<char>(maps), {}).find("libdebuginfod") !=
         std::string::npos;
}

// Copies the probe without debug information. Returns nothing if there is no objcopy.
std::string stripped_probe(const TempFolder& folder) {
  const char* objcopy = LABELSCOPE_OBJCOPY;
  if (*objcopy == '\0') return {};
  std::string stripped = folder.path() + "/libprobe.so";
  std::string command =
      std::string("'") + objcopy + "' --strip-all '" + paths::kProbe + "' '" + stripped + "'";
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

  Server server;
  use_server(server, folder);
  const LoadedModule loaded = loaded_from(stripped);
  SymbolizerOptions options;
  int asked = 0;
  options.cancelled = [&asked] { return ++asked > 2; };
  auto start = std::chrono::steady_clock::now();
  Profile profile = symbolize_addresses(loaded, {0x10}, options);
  auto taken = std::chrono::steady_clock::now() - start;
  ::unsetenv("DEBUGINFOD_URLS");
  CHECK(asked > 2);
  // libdebuginfod itself would wait for a minute and a half.
  CHECK(taken < std::chrono::seconds(45));
  CHECK_FALSE(profile.modules[0].symbol_problem.empty());
}

TEST_CASE(
    "debug_files: a debug file from a server gives the names, and how much has come is reported") {
#if defined(__SANITIZE_ADDRESS__)
  skip_test("the worker is forked beside the server's thread, whose lock of the sanitizer it has");
#endif
  if (::dlopen("libdebuginfod.so.1", RTLD_LAZY) == nullptr)
    skip_test("libdebuginfod is not installed");
  TempFolder folder;
  const std::string stripped = stripped_probe(folder);
  if (stripped.empty()) skip_test("objcopy is not installed");
  const auto address = reinterpret_cast<std::uint64_t>(&probe::outermost);
  const std::uint64_t link_address = address - module_at(address).module.load_bias;

  Server server;
  use_server(server, folder);
  SlowSender sender(server, paths::kProbe);
  FileNamer::Options naming = honest_naming();
  std::size_t most = 0;
  std::string of;
  naming.downloading = [&](const std::string& path, std::size_t done, std::size_t all) {
    of = path;
    if (all == 0 || done == 0) return;
    most = std::max(most, done);
    CHECK(all == sender.size());
    CHECK(done < all);
    sender.go_on();
  };
  const Profile profile = symbolize_addresses(loaded_from(stripped), {link_address}, {}, naming);
  ::unsetenv("DEBUGINFOD_URLS");
  REQUIRE(profile.locations[0].has_name());
  CHECK(profile.locations[0].lines.back().file.str().ends_with("probe.cc"));
  CHECK(of == stripped);
  CHECK(most == sender.size() / 2);
}

TEST_CASE("debug_files: a server that cannot be reached is reported") {
  if (::dlopen("libdebuginfod.so.1", RTLD_LAZY) == nullptr)
    skip_test("libdebuginfod is not installed");
  TempFolder folder;
  const std::string stripped = stripped_probe(folder);
  if (stripped.empty()) skip_test("objcopy is not installed");
  use_server(Server(), folder);  // nothing listens there any more
  const Profile profile = symbolize_addresses(loaded_from(stripped), {0x10}, {});
  ::unsetenv("DEBUGINFOD_URLS");
  const std::string& problem = profile.modules[0].symbol_problem;
  INFO(problem);
  CHECK(problem.find("was not fetched from DEBUGINFOD_URLS") != std::string::npos);
}

TEST_CASE("debug_files: without a thread no server is asked, and that is reported") {
  if (::dlopen("libdebuginfod.so.1", RTLD_LAZY) == nullptr)
    skip_test("libdebuginfod is not installed");
  TempFolder folder;
  Server server;
  use_server(server, folder);
  Debuginfod debuginfod({});
  const NoThreads no_threads;
  const Debuginfod::Answer answer =
      debuginfod.find("00112233445566778899aabbccddeeff00112233", [](std::size_t, std::size_t) {});
  ::unsetenv("DEBUGINFOD_URLS");
  CHECK_FALSE(answer.file.valid());
  CHECK(answer.why_not.find("no thread can be started") != std::string::npos);
}

TEST_CASE("debug_files: of an installed file the package of its debug symbols is known") {
  // dpkg prints "libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6", and the same for other packages.
  std::FILE* pipe = ::popen("dpkg-query -S '*/libc.so.6' 2>/dev/null", "r");
  REQUIRE(pipe != nullptr);
  bool told = false;
  for (char line[256]; std::fgets(line, sizeof line, pipe) != nullptr;) {
    told |= std::string_view(line).starts_with("libc6:");
  }
  ::pclose(pipe);
  if (!told) skip_test("dpkg knows no libc6 here");
  const LoadedModule libc = module_at(reinterpret_cast<std::uint64_t>(&std::fgetc));
  // /proc/PID/maps names the file below /usr where that is merged; dpkg names it below /lib.
  const std::string path = std::filesystem::canonical(libc.module.path).string();
  DebugPackages packages;
  CHECK(packages.of(path, *libc.file) == "libc6-dbg");
  // This is another file under that name, as in a container.
  CHECK(packages.of(path, *open_module_file("/proc/self/exe")).empty());
  // This file belongs to no package.
  CHECK(packages.of(paths::kProbe, *open_module_file(paths::kProbe)).empty());
  CHECK(DebugPackages("/nonexistent").of(path, *libc.file).empty());
}

TEST_CASE("debug_files: packages of debug symbols have the names that Debian gives them") {
  CHECK(debug_package_of("liblzma5") == "liblzma5-dbgsym");
  CHECK(debug_package_of("libc6") == "libc6-dbg");
  CHECK(debug_package_of("libc6-i386") == "libc6-i386-dbgsym");
  CHECK(debug_package_of("python3.11-minimal") == "python3.11-dbg");
  CHECK(debug_package_of("libpython3.11") == "python3.11-dbg");
  CHECK(debug_package_of("python3-numpy") == "python3-numpy-dbgsym");
}
