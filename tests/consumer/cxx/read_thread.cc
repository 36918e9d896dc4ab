// Prints the labels of one thread: read_thread PID TID. The form is that of ../c/print_labels.c.
#include <labelscope/observe.h>
#include <labelscope/plan.h>
#include <labelscope/stopped_thread.h>
#include <labelscope/target.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace {

// Bytes of a target may hold control characters, which a terminal must not obey.
std::string escaped(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && byte != '\\') {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

// An error may have names that the target gave to its files.
int fail(std::string_view why) {
  std::cerr << "read_thread: " << escaped(why) << '\n';
  return 1;
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
    seen = labelscope::observe(recipes, {*thread_pointer}, (*process)->memory());
  }  // the thread runs on
  std::cout << argv[2] << '\t' << labelscope::outcome_name(seen.outcome);
  for (const labelscope::Label& label : seen.labels) {
    std::cout << '\t' << escaped(label.key) << '=' << escaped(label.value) << '@'
              << escaped(plan->publishers[label.publisher].path);
  }
  std::cout << '\n';
}
