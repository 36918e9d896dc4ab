#include "cli/options/dump_options.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>

#include "cli/format/escape.h"
#include "cli/options/command_line.h"
#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

constexpr const char* kDumpFooter = R"(
Examples:
  labelscope dump -p 4242
  labelscope dump -p 4242 --stacks
  labelscope dump -p 4242 --explain       why are there no labels?
  labelscope dump --core core.4242 --sysroot /srv/image --json

Exit status: 0 ok, 1 runtime error, 2 usage, 3 no such process or core
file, 4 permission. The manual: man labelscope-dump)";

constexpr const char* kCoreOnly[] = {"--exe", "--sysroot", "--files"};
constexpr const char* kLiveOnly[] = {"--backend", "--max-stop"};

// True also for a path that we may not look at. The code that opens it tells the error.
bool exists(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool is_folder(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return errno != ENOENT && errno != ENOTDIR;
  return S_ISDIR(about.st_mode);
}

}  // namespace

const char* DumpParser::usage() const {
  return "labelscope dump [OPTIONS] -p PID[,PID]\n       labelscope dump [OPTIONS] --core FILE";
}

void DumpParser::add_to(CLI::App& app) {
  dump_ = app.add_subcommand(name(), "Show the labels of every thread of a process, now");
  dump_->footer(kDumpFooter);
  const char* target = "Target (one of)";
  dump_->add_option("-p,--pid", pids_, "Processes to look at, by ID")
      ->type_name("PID[,PID]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(target);
  dump_->add_option("--core", core_, "Core file of a process that has died")
      ->type_name("FILE")
      ->group(target);
  const char* content = "What is shown";
  dump_->add_flag("--stacks", stacks_, "Each thread's stack")->group(content);
  dump_->add_flag("--explain", explain_, "How the labels were found, or why not, step by step")
      ->group(content);
  dump_->add_flag("--json", json_, "One line of JSON for each process, with every byte")
      ->group(content);
  const char* live = "Of a process";
  dump_
      ->add_option("--backend", backend_,
                   "ptrace stops each thread for a moment, bpf stops none; auto is ptrace, or bpf "
                   "where ptrace is refused and for threads that do not stop in time")
      ->type_name("auto|ptrace|bpf")
      ->capture_default_str()
      ->group(live);
  dump_->add_option("--max-stop", max_stop_, "Cut a stack that takes longer to unwind")
      ->type_name("TIME")
      ->capture_default_str()
      ->group(live);
  const char* core = "Of a core file";
  dump_->add_option("--exe", executable_, "The program; default: where the core says it was")
      ->type_name("FILE")
      ->group(core);
  dump_
      ->add_option("--sysroot", sysroots_,
                   "Folder that holds the files of the system where it died (repeatable)")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(core);
  dump_
      ->add_option("--files", files_,
                   "Folder that is searched for its files, by build ID and name (repeatable)")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(core);
  messages_.add_to(*dump_);
}

bool DumpParser::given(const char* option) const {
  return dump_->get_option(option)->count() > 0;  // an empty argument is an argument too
}

void DumpParser::check_live(DumpOptions& options) const {
  for (const char* option : kCoreOnly) {
    if (given(option)) refuse(std::string(option) + " has a meaning with --core only");
  }
  options.backend = parse_backend(backend_);
  options.max_stop = parse_duration("--max-stop", max_stop_);
  if (options.backend != Backend::kBpf) return;
  if (stacks_)
    refuse("--stacks needs --backend ptrace: BPF stops no thread, so none can be unwound");
  if (given("--max-stop")) refuse("--max-stop has no meaning with --backend bpf: it stops nothing");
}

void DumpParser::check_core(DumpOptions& options) const {
  for (const char* option : kLiveOnly) {
    if (given(option)) refuse(std::string(option) + " has no meaning with --core");
  }
  if (core_.empty()) refuse("--core: the file name is empty");
  if (given("--exe") && executable_.empty()) refuse("--exe: the file name is empty");
  for (const auto* folders : {&sysroots_, &files_}) {
    if (std::count(folders->begin(), folders->end(), "") > 0) {
      refuse(std::string(folders == &sysroots_ ? "--sysroot" : "--files") +
             ": the folder's name is empty");
    }
  }
  if (!executable_.empty() && !exists(executable_)) {
    refuse("--exe " + escape_terminal(executable_) + ": there is no such file");
  }
  for (const auto* folders : {&sysroots_, &files_}) {
    for (const std::string& folder : *folders) {
      if (is_folder(folder)) continue;
      refuse(std::string(folders == &sysroots_ ? "--sysroot " : "--files ") +
             escape_terminal(folder) + ": there is no such folder");
    }
  }
  options.core = core_;
  options.core_files.executable = executable_;
  options.core_files.sysroots = sysroots_;
  options.core_files.file_directories = files_;
}

Options DumpParser::checked(const CommandTail& /*tail*/) const {
  DumpOptions options;
  options.pids = parse_pids(pids_);
  const bool core = given("--core");
  if (options.pids.empty() && !core) {
    refuse("nothing to look at: name a process with -p PID, or a core file with --core FILE");
  }
  if (!options.pids.empty() && core) refuse("-p and --core exclude each other");
  if (core) {
    check_core(options);
  } else {
    check_live(options);
  }
  options.json = json_;
  options.stacks = stacks_;
  options.explain = explain_;
  options.messages = messages_.checked();
  return options;
}

}  // namespace labelscope::cli
