// Programs that want large pages for their code copy it into memory without a file, at the same
// addresses:
//
//   before   r--p program | r-xp program                             | r--p program
//   after    r--p program | r-xp program | r-xp no file | r-xp program | r--p program
//
// (node --use-largepages=on, iodlr, BOLT's -hugify.) The code is still that of the file, and so are
// its names and its call frame information.
#pragma once

#include <vector>

#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope {

// Gives such mappings the file that lies there by the program headers of a file that is mapped next
// to them, if the bytes in memory are those of the file. All pages of short code are compared, and
// some of long code. Files are only opened if there is executable memory right beside one of them,
// one at a time. What all of this may cost has a bound, beyond which mappings keep no file.
void name_copied_text(const Target& target, std::vector<Mapping>& mappings);

}  // namespace labelscope
