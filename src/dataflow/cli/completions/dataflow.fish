function __dataflow_complete
    dataflow completion words (commandline -opc) (commandline -ct) 2>/dev/null
end
complete -c dataflow -a '(__dataflow_complete)'
complete -c RunJob -a '(__dataflow_complete)'
