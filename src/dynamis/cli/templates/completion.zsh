#compdef dynamis
# zsh completion of dynamis: source <(dynamis completion zsh), after compinit
_dynamis() {
    local -a known
    if (( CURRENT == 2 )); then
        known=(@DESCRIBED@)
        _describe command known
        return
    fi
    case "${words[2]}" in
@CASES@
        *) known=() ;;
    esac
    case "${words[2]} ${words[CURRENT-1]}" in
@CHOICES@
    esac
    if [[ "$PREFIX" == -* ]]; then
        compadd -- $known
        return
    fi
    case "${words[2]}" in
        @TAKERS@) compadd -- @ROBOTS@ ;;
    esac
    _files
}
compdef _dynamis dynamis
