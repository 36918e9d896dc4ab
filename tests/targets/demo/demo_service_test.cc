// The demo service keeps its promises: a ready line first, its truth last, split as planned, and an
// end at the signal.
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/catch.h"
#include "support/paths.h"

namespace {

// This is the margin of a share. One request is a thousandth of the run, so a scheduler that works
// is far closer.
constexpr double kMargin = 0.02;

class Service {
 public:
  explicit Service(const std::string& options)
      : output_(popen((std::string(paths::kDemoService) + " " + options).c_str(), "r")) {
    REQUIRE(output_ != nullptr);
  }
  ~Service() {
    if (output_ != nullptr) pclose(output_);
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  std::string read_line() {
    std::string line;
    for (int c = std::fgetc(output_); c != EOF && c != '\n'; c = std::fgetc(output_))
      line += static_cast<char>(c);
    return line;
  }
  int wait_for_end() {
    const int status = pclose(output_);
    output_ = nullptr;
    return status;
  }

 private:
  std::FILE* output_;
};

// Returns the number behind "name": in the truth. No name is part of another, or there twice.
double number(const std::string& truth, const std::string& name) {
  const std::string quoted = "\"" + name + "\": ";
  const std::size_t at = truth.find(quoted);
  INFO(truth);
  REQUIRE(at != std::string::npos);
  return std::strtod(truth.c_str() + at + quoted.size(), nullptr);
}

}  // namespace

TEST_CASE("demo_service: CPU time splits by tenant and route as planned, and adds up") {
  Service service("--seconds 2 --threads 3 --request-id");
  CHECK(service.read_line().rfind("ready pid ", 0) == 0);
  const std::string truth = service.read_line();
  CHECK(service.wait_for_end() == 0);
  const double labelled = number(truth, "cpu_ns") - number(truth, "unlabelled_ns");
  REQUIRE(labelled > 0);
  CHECK(std::abs(number(truth, "acme") / labelled - 0.6) < kMargin);
  CHECK(std::abs(number(truth, "globex") / labelled - 0.3) < kMargin);
  CHECK(std::abs(number(truth, "initech") / labelled - 0.1) < kMargin);
  CHECK(std::abs(number(truth, "/search") / labelled - 0.7) < kMargin);
  CHECK(std::abs(number(truth, "/checkout") / labelled - 0.3) < kMargin);
  CHECK(labelled > 0.9 * number(truth, "cpu_ns"));
}

TEST_CASE("demo_service: SIGTERM ends it at once, with its truth") {
  const auto start = std::chrono::steady_clock::now();
  Service service("--seconds 60");
  int pid = 0;
  REQUIRE(std::sscanf(service.read_line().c_str(), "ready pid %d", &pid) == 1);
  REQUIRE(kill(pid, SIGTERM) == 0);
  CHECK(number(service.read_line(), "cpu_ns") > 0);
  CHECK(service.wait_for_end() == 0);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("demo_service: options that make no sense are refused") {
  for (const std::string options :
       {"--seconds 0", "--seconds -1", "--threads 257", "--threads x", "more"}) {
    Service service(options + " 2>/dev/null");
    CHECK(service.read_line().empty());
    CHECK(service.wait_for_end() != 0);
  }
}
