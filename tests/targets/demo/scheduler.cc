// Chooses the largest deficit first, and sums up by label.
#include "scheduler.h"

#include <map>

namespace demo {

Scheduler::Request Scheduler::begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  double total = 0;
  for (const std::int64_t ns : charged_ns_) total += static_cast<double>(ns);
  // At first there are no measurements; any positive total orders the requests by share.
  if (total == 0) total = 1;
  std::size_t next = 0;
  double largest = 0;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    const double deficit = kKinds[i].share * total - static_cast<double>(charged_ns_[i]);
    if (i == 0 || deficit > largest) {
      largest = deficit;
      next = i;
    }
  }
  const Request request = {next, ++requests_, last_ns_[next]};
  charged_ns_[next] += request.expected_ns;
  return request;
}

void Scheduler::finish(const Request& request, std::int64_t cpu_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  charged_ns_[request.kind] += cpu_ns - request.expected_ns;
  measured_ns_[request.kind] += cpu_ns;
  last_ns_[request.kind] = cpu_ns;
}

void Scheduler::add_thread(std::int64_t cpu_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  threads_ns_ += cpu_ns;
}

namespace {
// The names are our own constants, so nothing in them needs escaping.
std::string object(const std::map<std::string_view, std::int64_t>& values) {
  std::string text = "{";
  for (const auto& [name, ns] : values) {
    if (text.size() > 1) text += ", ";
    text += '"';
    text += name;
    text += "\": " + std::to_string(ns);
  }
  return text + "}";
}
}  // namespace

std::string Scheduler::truth() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<std::string_view, std::int64_t> tenants;
  std::map<std::string_view, std::int64_t> routes;
  std::int64_t labelled_ns = 0;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    tenants[kKinds[i].tenant] += measured_ns_[i];
    routes[kKinds[i].route] += measured_ns_[i];
    labelled_ns += measured_ns_[i];
  }
  return "{\"cpu_ns\": " + std::to_string(threads_ns_) +
         ", \"unlabelled_ns\": " + std::to_string(threads_ns_ - labelled_ns) +
         ", \"requests\": " + std::to_string(requests_) +
         ", \"labels\": {\"tenant\": " + object(tenants) + ", \"http.route\": " + object(routes) +
         "}}";
}

}  // namespace demo
