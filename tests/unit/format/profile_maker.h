// Makes profiles by hand, in few words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::test {

using cli::Index;

struct ProfileMaker {
  ProfileMaker();

  Index process(int pid, std::string comm, std::vector<std::string> publishers = {});
  Index thread(int pid, int tid, std::string name);
  Index module(cli::ProfileModule::Kind kind, std::string path, Address start, Address end);
  // Adds one location with these lines, innermost first. Without lines it has no name.
  Index location(Index module, Address address, std::vector<std::string> functions);
  Index stack(std::vector<Index> leaf_first);
  Index label_set(LabelSet set);
  // Adds a set of labels, all from publisher 0.
  Index labels(const std::vector<std::pair<std::string, std::string>>& pairs);
  // Returns the row for further changes.
  cli::SampleRow& sample(Index thread, Index stack, Index label_set, unsigned outcome,
                         unsigned flags = 0);

  cli::Profile profile;
};

// Returns the profile with a weight for each row that has none: this number of nanoseconds for each
// sample, as the recorder leaves it.
cli::Profile weighed(cli::Profile profile, std::uint64_t ns_each);

// Has one process "shop" (pid 100, publisher /opt/shop/libshop.so), one thread (101 "worker"), and
// the stack work <- main in its executable.
struct SmallProfile : ProfileMaker {
  SmallProfile();
  Index shop_thread, main_module, work_stack, no_labels;
  // Adds a sample with these labels, which is labelled if there are any.
  cli::SampleRow& labelled(const std::vector<std::pair<std::string, std::string>>& pairs);
};

}  // namespace labelscope::test
