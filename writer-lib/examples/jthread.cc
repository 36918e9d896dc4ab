// A request hands part of its work to a thread. The thread is profiled under the request's labels
// for as long as it works for the request.
#include <cstdio>
#include <numeric>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "customlabels/pprof.hpp"

namespace labels = customlabels::labels;

namespace {

// Returns what a profiler would show for a sample that is taken now.
std::string labels_now() {
  std::string text;
  for (const char* key : {"tenant", "http.route", "part"}) {
    const auto value = labels::Label(key);
    if (value) text += std::string(key) + "=" + std::string(*value) + " ";
  }
  return text;
}

struct Work {
  std::string labels;
  long sum = 0;
};

Work add_up(const std::vector<int>& numbers) {
  return {labels_now(), std::accumulate(numbers.begin(), numbers.end(), 0L)};
}

// A web server would call this function for each request.
Work handle_request(const std::string& tenant) {
  Work work;
  labels::Do(labels::Labels("tenant", tenant, "http.route", "/report"), [&] {
    const std::vector<int> numbers(1000, 1);
    // Inherit captures the labels that are current here. std::jthread may pass its stop token
    // first.
    std::jthread worker(labels::Inherit([&](const std::stop_token&) {
      labels::Do(labels::Labels("part", "sum"), [&] { work = add_up(numbers); });
    }));
  });
  return work;
}

}  // namespace

int main() {
  const Work work = handle_request("acme");
  std::printf("the thread worked under: %s\n", work.labels.c_str());
  std::printf("after the request: %s\n", labels_now().c_str());
  const bool right = work.labels == "tenant=acme http.route=/report part=sum " &&
                     work.sum == 1000 && labels_now().empty();
  return right ? 0 : 1;
}
