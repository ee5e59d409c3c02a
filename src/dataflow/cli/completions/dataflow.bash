_dataflow_complete() {
    local IFS=$'\n'
    COMPREPLY=($(dataflow completion words "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null))
}
complete -o default -o bashdefault -F _dataflow_complete dataflow RunJob
