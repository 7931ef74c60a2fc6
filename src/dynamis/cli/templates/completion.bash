# bash completion of dynamis: source <(dynamis completion bash)
_dynamis() {
    local word="${COMP_WORDS[COMP_CWORD]}" words
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "@COMMANDS@" -- "$word"))
        return
    fi
    case "${COMP_WORDS[1]}" in
@CASES@
        *) words="" ;;
    esac
    case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in
@CHOICES@
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
        *)
            COMPREPLY=($(compgen -f -- "$word"))
            case "${COMP_WORDS[1]}" in
                @TAKERS@) COMPREPLY+=($(compgen -W "@ROBOTS@" -- "$word")) ;;
            esac
            ;;
    esac
}
complete -o filenames -F _dynamis dynamis
