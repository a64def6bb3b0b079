# Completion of mosey for fish: mosey completion fish > ~/.config/fish/completions/mosey.fish
complete -c mosey -a '(mosey __complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
