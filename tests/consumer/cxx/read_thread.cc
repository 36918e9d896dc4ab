// Prints the labels of one thread: read_thread PID TID. The form is that of ../c/print_labels.c;
// real programs escape bytes better.
#include <labelscope/label_walk.h>
#include <labelscope/plan.h>
#include <labelscope/stopped_thread.h>
#include <labelscope/target.h>

#include <cctype>
#include <cstdlib>
#include <iostream>

namespace {

int fail(const std::string& why) {
  std::cerr << "read_thread: " << why << '\n';
  return 1;
}

std::string printable(std::string bytes) {
  for (char& byte : bytes) {
    if (std::isprint(static_cast<unsigned char>(byte)) == 0) byte = '?';
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage: read_thread PID TID");
  auto process = labelscope::LiveProcess::open(labelscope::Pid{std::atoi(argv[1])});
  if (!process) return fail(process.error().context);
  labelscope::Planner planner;
  auto plan = planner.plan(**process);
  if (!plan) return fail(plan.error().context);
  std::vector<ls_tls_recipe> recipes;
  for (const auto& publisher : plan->publishers) recipes.push_back(publisher.recipe);

  labelscope::Observation seen;
  {
    auto stopped = labelscope::StoppedThread::stop(labelscope::Tid{std::atoi(argv[2])});
    if (!stopped) return fail(stopped.error().context);
    auto thread_pointer = stopped->thread_pointer();
    if (!thread_pointer) return fail(thread_pointer.error().context);
    seen = labelscope::observe(recipes, *thread_pointer, (*process)->memory());
  }  // the thread goes on
  std::cout << argv[2] << '\t' << labelscope::outcome_name(seen.outcome);
  for (const labelscope::Label& label : seen.labels) {
    std::cout << '\t' << printable(label.key) << '=' << printable(label.value) << '@'
              << printable(plan->publishers[label.publisher].path);
  }
  std::cout << '\n';
}
