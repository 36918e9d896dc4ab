// Some processes of a server know a thing by its number alone, and others know its name, too: a
// parallel worker of PostgreSQL has the OID of its database, and each session has OID and name.
// So a recording of both knows what the number means:
//
//   session   db=shop  db_oid=16385        db_oid 16385 is shop, in this server
//   worker             db_oid=16385   -->  worker  db=shop  db_oid=16385
//
// Another server may have another database of that number. So names are learned from processes of
// the same server (Process::server), and a number that has two names there has none.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// The label `name` says what a value of the label `number` is called.
struct NameOfNumber {
  std::string number;
  std::string name;
};

// Adds the label `name` to samples that have only `number`, if other samples of the server have
// both. The ledger counts them (labels-learned).
void learn_names(std::span<const NameOfNumber> pairs, Profile& profile);

// Returns these keys, and with each that is a name the number that it names: what is kept of labels
// by a name alone would be nothing in processes that know the number alone.
std::vector<std::string> with_numbers(std::vector<std::string> keys,
                                      std::span<const NameOfNumber> pairs);

}  // namespace labelscope::cli
