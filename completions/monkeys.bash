# Completion of monkeys in bash. The program itself knows what may follow.
_monkeys() {
    local IFS=$'\n'
    # shellcheck disable=SC2207 # one word a line
    COMPREPLY=($("${COMP_WORDS[0]}" help --complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _monkeys monkeys
