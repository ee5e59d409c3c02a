#compdef dataflow RunJob
_dataflow_complete() {
    local -a found
    found=("${(@f)$(dataflow completion words "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _dataflow_complete dataflow RunJob
