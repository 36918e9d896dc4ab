# fish completion for labelscope(1): the program itself knows its options, and what they take.
function __labelscope_complete
    set -l typed (commandline --tokenize --cut-at-cursor --current-process)
    set -l word (commandline --current-token --cut-at-cursor)
    set -l words (labelscope complete -- $typed[2..-1] $word 2>/dev/null)
    if test (count $words) -gt 0
        printf '%s\n' $words
    else
        __fish_complete_path $word
    end
end
complete --command labelscope --no-files --arguments '(__labelscope_complete)'
