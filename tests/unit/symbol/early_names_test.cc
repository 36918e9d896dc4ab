// Names are known before a recording ends, and nothing else depends on them: the names of a profile
// are the same with and without, whatever went wrong before the end.
#include "cli/symbol/early_names.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "loaded_module.h"
#include "probe.h"
#include "support/catch.h"
#include "support/no_threads.h"
#include "temp_folder.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace std::chrono_literals;

namespace {

std::vector<Address> probe_addresses() {
  probe::Place place;
  probe::outermost(place);
  probe::Place other;
  probe::through_lambda(other);
  return {place.address, other.address};
}

// A recording that has seen these addresses of one module.
struct Recorded {
  explicit Recorded(LoadedModule loaded) : modules{loaded.module}, files{loaded.file} {
    for (const Address address : probe_addresses()) locations.push_back({0, address, {}});
  }
  Profile profile() const {
    Profile profile;
    profile.modules = modules;
    profile.locations = locations;
    return profile;
  }
  std::vector<ProfileModule> modules;
  std::vector<ModuleFile> files;
  std::vector<Location> locations;
};

Recorded recorded() { return Recorded(module_at(probe_addresses().front())); }

Profile named_at_the_end(const Recorded& recording) {
  Profile profile = recording.profile();
  FileNamer namer(honest_naming());
  symbolize(profile, recording.files, namer, {});
  return profile;
}

void check_same_names(const Profile& profile, const Profile& expected) {
  for (std::size_t i = 0; i < expected.locations.size(); ++i) {
    const auto& lines = profile.locations[i].lines;
    REQUIRE(lines.size() == expected.locations[i].lines.size());
    for (std::size_t line = 0; line < lines.size(); ++line) {
      CHECK(lines[line].function == expected.locations[i].lines[line].function);
      CHECK(lines[line].system_name == expected.locations[i].lines[line].system_name);
      CHECK(lines[line].file == expected.locations[i].lines[line].file);
      CHECK(lines[line].line == expected.locations[i].lines[line].line);
    }
  }
  CHECK(profile.modules[0].symbol_problem == expected.modules[0].symbol_problem);
  CHECK(profile.modules[0].build_id == expected.modules[0].build_id);
}

// Looks at all locations and waits until nothing of them waits for a name.
void name_all(EarlyNames& early, const Recorded& recording, std::size_t count) {
  while (early.named() < count) {
    early.look_at(std::span(recording.locations).first(count), recording.modules, recording.files);
    std::this_thread::sleep_for(1ms);
  }
}

void symbolize_after(EarlyNames& early, Profile& profile, const Recorded& recording,
                     FileNamer& namer) {
  SymbolizerOptions options;
  options.early = &early;
  symbolize(profile, recording.files, namer, options);
}

void look_at_all(EarlyNames& early, const Recorded& recording) {
  while (!early.look_at(recording.locations, recording.modules, recording.files)) {
  }
}

// Launches an honest worker that calls `act` before it answers an early request.
Launcher worker_that(void (*act)()) {
  return forked_worker([act](Channel& channel) {
    say_ready(channel);
    const Answer honest = make_names_task();
    while (true) {
      auto request = channel.receive(-1ms);
      if (!request || !*request) _exit(0);
      Message message = std::move(**request);
      message.body.erase(0, message.body.find('\0') + 1);
      if (decode_names_request(message.body)->later) act();
      Conversation conversation(channel);
      (void)honest(std::move(message), conversation);
      (void)channel.send({Message::Kind::kDone, {}, {}}, 10s);
    }
  });
}

// Launches the real worker once.
Launcher only_once(int& launches) {
  return [&launches, launch = honest_worker()](std::uint64_t memory) -> Result<Launched> {
    if (launches++ == 0) return launch(memory);
    return Error{ErrorCode::kSystem, "there is one worker only"};
  };
}

// Names all while it records, and ends the worker before the profile gets its names.
Profile named_early_alone(const Recorded& recording, FileNamer& namer) {
  Profile profile = recording.profile();
  EarlyNames early(namer);
  name_all(early, recording, 2);
  early.finish();
  namer.end();
  symbolize_after(early, profile, recording, namer);
  return profile;
}

}  // namespace

TEST_CASE("early_names: names are known before the end, and no worker is needed for them then") {
  const Recorded recording = recorded();
  int launches = 0;
  FileNamer namer({.launch = only_once(launches)});
  const Profile profile = named_early_alone(recording, namer);
  check_same_names(profile, named_at_the_end(recording));
  CHECK_FALSE(profile.locations[0].lines.empty());
}

TEST_CASE("early_names: without debug information they have no lines either") {
  const Recorded recording = recorded();
  int launches = 0;
  FileNamer namer({.launch = only_once(launches), .debug_information = false});
  const Profile profile = named_early_alone(recording, namer);
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(profile.locations[i].lines.size() == 1);
    CHECK(profile.locations[i].has_name());
    CHECK(profile.locations[i].lines[0].file.empty());
  }
}

TEST_CASE("early_names: what is new at the end is asked for then") {
  const Recorded recording = recorded();
  FileNamer namer(honest_naming());
  EarlyNames early(namer);
  name_all(early, recording, 1);
  early.finish();
  CHECK(early.named() == 1);
  Profile profile = recording.profile();
  symbolize_after(early, profile, recording, namer);
  check_same_names(profile, named_at_the_end(recording));
}

TEST_CASE("early_names: a file that has changed since is named anew") {
  const TempFolder folder;
  const std::string copy = folder.path() + "/copy";
  LoadedModule loaded = module_at(probe_addresses().front());
  std::filesystem::copy_file(loaded.module.path, copy);
  loaded.module.path = copy;
  loaded.file = open_module_file(copy);
  const Recorded recording(loaded);
  int launches = 0;
  FileNamer namer({.launch = only_once(launches)});
  EarlyNames early(namer);
  name_all(early, recording, 2);
  early.finish();
  namer.end();
  // The kernel's clock of files has ticks.
  struct stat before {};
  REQUIRE(::stat(copy.c_str(), &before) == 0);
  struct stat now = before;
  while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
         now.st_ctim.tv_nsec == before.st_ctim.tv_nsec) {
    REQUIRE(::chmod(copy.c_str(), before.st_mode) == 0);
    REQUIRE(::stat(copy.c_str(), &now) == 0);
  }
  Profile profile = recording.profile();
  symbolize_after(early, profile, recording, namer);
  CHECK(launches > 1);
  CHECK(profile.locations[0].lines.empty());
}

TEST_CASE("early_names: of a file that is written anew, names of what ran before are kept") {
  const TempFolder folder;
  const std::string copy = folder.path() + "/copy";
  LoadedModule loaded = module_at(probe_addresses().front());
  std::filesystem::copy_file(loaded.module.path, copy);
  loaded.module.path = copy;
  loaded.file = open_module_file(copy);
  const Recorded recording(loaded);
  struct stat status {};
  REQUIRE(::stat(copy.c_str(), &status) == 0);
  FileState mapped = FileState::of(status);
  const bool was_mapped = GENERATE(true, false);
  if (!was_mapped) --mapped.size;  // what was mapped is gone already
  FileNamer namer(honest_naming());
  EarlyNames early(namer);
  const auto look = [&] {
    return early.look_at(recording.locations, recording.modules, recording.files,
                         std::span(&mapped, 1));
  };
  while (!look() || (was_mapped && early.waiting() != 0)) std::this_thread::sleep_for(1ms);
  early.finish();
  { std::ofstream(copy) << "another build"; }
  std::vector<ModuleFile> files = recording.files;
  files[0].reset();
  Profile profile = recording.profile();
  SymbolizerOptions options;
  options.early = &early;
  symbolize(profile, files, namer, options);
  if (was_mapped) {
    CHECK(profile.locations[0].has_name());
    CHECK(profile.locations[0].lines[0].function ==
          named_at_the_end(recorded()).locations[0].lines[0].function);
  } else {
    CHECK(profile.locations[0].lines.empty());
  }
}

TEST_CASE("early_names: without a thread, all names are found at the end") {
  const Recorded recording = recorded();
  FileNamer namer(honest_naming());
  std::optional<EarlyNames> early;
  {
    const NoThreads no_threads;
    early.emplace(namer);
  }
  look_at_all(*early, recording);
  CHECK(early->waiting() == 0);
  early->finish();
  Profile profile = recording.profile();
  symbolize_after(*early, profile, recording, namer);
  check_same_names(profile, named_at_the_end(recording));
}

TEST_CASE("early_names: a worker that dies before the end costs no names") {
  const Recorded recording = recorded();
  FileNamer namer({.launch = worker_that([] { ::raise(SIGSEGV); })});
  EarlyNames early(namer);
  look_at_all(early, recording);
  while (early.waiting() != 0) std::this_thread::sleep_for(1ms);
  early.finish();
  CHECK(early.named() == 0);
  Profile profile = recording.profile();
  symbolize_after(early, profile, recording, namer);
  check_same_names(profile, named_at_the_end(recording));
}

TEST_CASE("early_names: a worker that hangs is not waited for at the end") {
  const Recorded recording = recorded();
  FileNamer namer({.launch = worker_that([] {
                     for (;;) ::pause();
                   })});
  EarlyNames early(namer);
  look_at_all(early, recording);
  early.finish();
  Profile profile = recording.profile();
  symbolize_after(early, profile, recording, namer);
  check_same_names(profile, named_at_the_end(recording));
}

TEST_CASE("early_names: a worker that dies of what others left in it is not held against a file") {
  // It has the file of early requests, and ends with the first question of the end.
  const Recorded recording = recorded();
  FileNamer namer({.launch = forked_worker([](Channel& channel) {
                     say_ready(channel);
                     const Answer honest = make_names_task();
                     bool has_early = false;
                     while (true) {
                       auto request = channel.receive(-1ms);
                       if (!request || !*request) _exit(0);
                       Message message = std::move(**request);
                       message.body.erase(0, message.body.find('\0') + 1);
                       const bool later = decode_names_request(message.body)->later;
                       if (has_early && !later) _exit(1);
                       has_early |= later;
                       Conversation conversation(channel);
                       (void)honest(std::move(message), conversation);
                       (void)channel.send({Message::Kind::kDone, {}, {}}, 10s);
                     }
                   })});
  EarlyNames early(namer);
  name_all(early, recording, 1);
  early.finish();
  Profile profile = recording.profile();
  symbolize_after(early, profile, recording, namer);
  check_same_names(profile, named_at_the_end(recording));
}
