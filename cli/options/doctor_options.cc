// The options of doctor as they are typed.
#include "cli/options/doctor_options.h"

namespace labelscope::cli {

const CommandTexts DoctorOptions::kTexts{
    .name = "doctor",
    .about = "Show what works here, and how to mend what does not",
    .usage = "labelscope doctor [OPTIONS] [-p PID|NAME[,...]]",
    .footer = R"(
Examples:
  labelscope doctor
  sudo labelscope doctor -p nginx
  labelscope doctor --json | jq '.checks[] | select(.verdict != "fine")'

Exit status: 0 record will work whole, 1 it will work, but something is limited; else the status
that record would have: 2 usage, 3 no such process, 4 permission. The manual: man labelscope-doctor)"};

void DoctorOptions::declare(OptionList& list) {
  list.group("Processes to look at, too");
  wanted.declare(list, "Processes");
  list.group("Output");
  list.flag("--json", "One JSON object", json);
  messages.declare(list);
}

void DoctorOptions::check(const OptionList& list, const CommandTail& /*tail*/) {
  messages.check(list);
}

}  // namespace labelscope::cli
