// Hands out the demo service's work so that CPU time splits as planned, and keeps the truth about
// it. The split is of measured CPU time, not of numbers of requests: the kind that is furthest
// behind its share comes next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace demo {

struct Kind {
  std::string_view tenant;
  std::string_view route;
  double share;  // of all CPU time that is spent on requests
};

// The kinds are three tenants at 60, 30 and 10 %, each with 70 % searches and 30 % checkouts.
inline constexpr std::array<Kind, 6> kKinds = {{
    {"acme", "/search", 0.42},
    {"acme", "/checkout", 0.18},
    {"globex", "/search", 0.21},
    {"globex", "/checkout", 0.09},
    {"initech", "/search", 0.07},
    {"initech", "/checkout", 0.03},
}};

class Scheduler {
 public:
  struct Request {
    std::size_t kind = 0;
    std::uint64_t id = 0;
    std::int64_t expected_ns = 0;  // charged until the measured time is known
  };

  Request begin();
  void finish(const Request& request, std::int64_t cpu_ns);
  // Adds the whole time of a worker's thread, at its end.
  void add_thread(std::int64_t cpu_ns);

  // Returns one line of JSON: the CPU time by label, measured by the threads' own clocks.
  std::string truth() const;

 private:
  mutable std::mutex mutex_;
  std::array<std::int64_t, kKinds.size()>
      charged_ns_{};  // finished requests, and the expected time of those under way
  std::array<std::int64_t, kKinds.size()> measured_ns_{};
  std::array<std::int64_t, kKinds.size()> last_ns_{};
  std::int64_t threads_ns_ = 0;
  std::uint64_t requests_ = 0;
};

}  // namespace demo
