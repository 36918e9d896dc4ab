// The options of dump as they are typed.
#include "cli/options/dump_options.h"

#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

void refuse_any(const OptionList& list, std::initializer_list<const char*> options,
                const std::string& why) {
  for (const char* option : options) {
    if (list.given(option)) refuse(option + why);
  }
}

}  // namespace

const CommandTexts DumpOptions::kTexts{
    .name = "dump",
    .about = "Show the labels of every thread of a process, now",
    .usage =
        "labelscope dump [OPTIONS] -p PID|NAME[,...]\n"
        "labelscope dump [OPTIONS] --unit UNIT|--port PORT|--container ID|--cgroup PATH\n"
        "labelscope dump [OPTIONS] --core FILE",
    .footer = R"(
Examples:
  labelscope dump -p 4242
  labelscope dump -p 4242 --stacks
  labelscope dump -p 4242 --explain     # why are there no labels?
  labelscope dump --core core.4242 --sysroot /srv/image --json

Exit status: 0 ok, 1 runtime error, 2 usage, 3 no such process or core
file, 4 permission. The manual: man labelscope-dump)"};

void DumpOptions::declare(OptionList& list) {
  list.group("Targets (or a core file)");
  wanted.declare(list, "Processes to look at");
  list.word("--core", "FILE", "Core file of a process that has died", core,
            NotEmpty{"the file name"});
  list.group("What is shown");
  list.flag("--stacks", "Each thread's stack", stacks);
  list.flag("--explain", "How the labels were found, or why not, step by step", explain);
  list.flag("--json", "One line of JSON for each process, with every byte", json);
  function_names.declare(list, ", for --stacks");
  unpublished.declare(list);
  list.group("Of a process");
  list.word("--backend", "auto|ptrace|bpf",
            "ptrace stops each thread for a moment, bpf stops none; auto is bpf, with a stop of "
            "threads that run just then; and ptrace with --stacks or --explain, or without the "
            "rights for BPF",
            backend, choice(kBackends), "auto");
  list.word("--max-stop", "TIME", "Cut a stack that takes longer to unwind", max_stop,
            parse_duration, "5ms");
  list.group("Of a core file");
  list.word("--exe", "FILE", "The program; default: where the core says it was",
            core_files.executable, read_file_name);
  list.words("--sysroot", "DIR",
             "Folder that holds the files of the system where it died (repeatable)",
             core_files.sysroots, read_folders);
  list.words("--files", "DIR",
             "Folder that is searched for its files, by build ID and name (repeatable)",
             core_files.file_directories, read_folders);
  declare_drop_to(list, drop_to);
  messages.declare(list);
}

void DumpOptions::check(const OptionList& list, const CommandTail& /*tail*/) {
  const bool of_core = list.given("--core");
  if (wanted.empty() && !of_core) {
    refuse(
        "nothing to look at: name a process with -p PID or -p NAME, or a core file with --core "
        "FILE");
  }
  if (!wanted.empty() && of_core) {
    refuse("processes that run (-p and the like) and --core exclude each other");
  }
  if (of_core) {
    refuse_any(list, {"--backend", "--max-stop", "--env-label", "--env-labels", "--process-label"},
               " has no meaning with --core");
  } else {
    refuse_any(list, {"--exe", "--sysroot", "--files"}, " has a meaning with --core only");
  }
  unpublished.check();
  if (backend == Backend::kBpf) {
    if (stacks) {
      refuse("--stacks needs --backend ptrace: BPF stops no thread, so none can be unwound");
    }
    if (list.given("--max-stop")) {
      refuse("--max-stop has no meaning with --backend bpf: it stops nothing");
    }
  }
  messages.check(list);
}

}  // namespace labelscope::cli
