# Completion of monkeys in fish. The program itself knows what may follow.
complete -c monkeys -a '(monkeys help --complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
