# fish completion for labelscope(1): the program itself knows its options, and what they take.
function __labelscope_complete
    set -l typed (commandline --tokenize --cut-at-cursor --current-process)
    labelscope complete -- $typed[2..-1] (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command labelscope --arguments '(__labelscope_complete)'
