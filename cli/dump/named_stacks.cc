#include "cli/dump/named_stacks.h"

namespace labelscope::cli {

void StackNamer::look_at(const Target& target) {
  [[maybe_unused]] const Status status = space_.load(target);
}

Index StackNamer::location_at(Profile& profile, Address address) {
  auto [known, fresh] =
      locations_.try_emplace(address, static_cast<Index>(profile.locations.size()));
  if (fresh) profile.locations.push_back({space_.module_at(address), address, {}});
  return known->second;
}

NamedStacks StackNamer::name(const std::vector<ThreadSnapshot>& threads,
                             const SymbolizerOptions& options) {
  NamedStacks named;
  Profile& profile = named.profile;
  for (const ThreadSnapshot& thread : threads) {
    named.of_thread.push_back(thread.stack ? static_cast<Index>(profile.stacks.size()) : kNoIndex);
    if (!thread.stack) continue;
    Stack stack{{}, thread.stack->end};
    for (Address frame : thread.stack->frames) {
      // Behind the first one they are return addresses (unwind.h): the call is in front of them.
      const Address code = stack.frames.empty() ? frame : frame - 1;
      stack.frames.push_back(location_at(profile, code));
    }
    profile.stacks.push_back(std::move(stack));
  }
  profile.modules = modules_.take_modules();
  symbolize(profile, modules_.take_files(), options);
  return named;
}

}  // namespace labelscope::cli
