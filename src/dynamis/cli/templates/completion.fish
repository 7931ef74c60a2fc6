# fish completion of dynamis: dynamis completion fish > ~/.config/fish/completions/dynamis.fish
complete -c dynamis -f -n __fish_use_subcommand
@CASES@
complete -c dynamis -n '__fish_seen_subcommand_from @TAKERS@' -a '@ROBOTS@'
