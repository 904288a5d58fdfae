# Completion of gpumemsnap for fish: asks the program itself (src/cli/complete.h says how).
function __gpumemsnap
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in ($words[1] --complete $words[2..-1] "$typed" 2>/dev/null)
        switch $line
            case @files
                __fish_complete_path (string replace -r -- '^--[^=]*=' '' "$typed")
            case '@program *'
                __fish_complete_subcommand --fcs-skip=(string replace '@program ' '' $line)
            case '*'
                echo $line
        end
    end
end
complete -c gpumemsnap -f -a '(__gpumemsnap)'
