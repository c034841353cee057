#!/bin/sh
# main.t: finding commands, help, options, configuration files.
. tests/cli/lib.sh

run
is $status 0 "no command shows the commands"
like "$out" "*doctor*" "… all of them"
run help check
like "$out" "usage: monkeys check *" "help names the command"
like "$out" "*--rules default|paper*" "… and its options"
run check --help
like "$out" "usage: monkeys check *" "--help is the same"
run help pack
like "$out" "*monkeys pack list*monkeys pack check*monkeys pack new*" "help on the first word shows all"
run help nonsense
is $status 2 "help on nothing is a usage error"

run --version
like "$out" "monkeys [0-9]*.[0-9]*" "--version names the program and its version"
version=${out#monkeys }
for program in monkeys-worker monkeys-runner; do
    is "$("$root/$program" --version)" "$program $version" "… $program, too"
done

run chekc
is $status 2 "an unknown command exits 2"
like "$err" "*did you mean 'monkeys check'*" "… and names the nearest"
run pack
is $status 2 "half a command exits 2"
like "$err" "*pack list|check|new*" "… and says what is missing"
run pack chekc
like "$err" "*list|check|new*" "a wrong second word, too"
run check --jsno
is $status 2 "an unknown option exits 2"
like "$err" "*did you mean --json?*" "… and names the nearest"
run check --rules literal --dsl triton x.py
is $status 2 "a value that is no choice exits 2"
run check --dsl
is $status 2 "a missing value exits 2"
run check x.py
like "$err" "*--dsl ID is missing*" "a required option is asked for"

printf '[check]\nrules = paper\njson = yes\n' >"$work/my.ini"
printf 'x = 1\n' >"$work/x.py"
run check -c my.ini --dsl triton x.py
like "$out" '{"file":"x.py"*' "a configuration file sets options"
like "$out" '*table5*' "… all of them"
run check -c my.ini --rules default --dsl triton x.py
case $out in *table5*) false ;; *) true ;; esac
ok "the command line comes first"
printf '[check]\nrulez = paper\n' >"$work/bad.ini"
run check -c bad.ini --dsl triton x.py
is $status 2 "an unknown name in the file exits 2"
like "$err" "*bad.ini:2:*did you mean 'rules'*" "… and names file, line and the nearest"
run check -c none.ini --dsl triton x.py
like "$err" "*none.ini*" "a file that is not there is named"

run help --complete -- ar
is "$out" archive "a command is completed"
run help --complete -- archive re
is "$out" reverify "… and its second word"
run help --complete -- verify --protocol ''
is "$out" "hardened
kernelbench" "… the value of an option"
run help --complete -- verify --prot
is "$out" --protocol "… an option"
run help --complete -- verify x.p
is "$out" "" "… and no file, which the shell does"
out=$(PATH="$root:$PATH" bash -c '. "$1"; COMP_WORDS=(monkeys export s) COMP_CWORD=2; _monkeys; echo "${COMPREPLY[*]}"' x "$root/completions/monkeys.bash")
is "$out" sft "bash asks for it"
make -C "$root" --no-print-directory install "DESTDIR=$work/made" PREFIX=/usr >/dev/null 2>&1
is "$(env -i PATH="$PATH" "$work/made/usr/bin/monkeys" --version)" "$("$monkeys" --version)" "it is installed"
make -C "$root" --no-print-directory uninstall "DESTDIR=$work/made" PREFIX=/usr >/dev/null 2>&1
is "$(find "$work/made" ! -type d)" "" "and uninstalled, without a trace"

[ -w /dev/full ] && "$monkeys" help >/dev/full 2>"$work/.err"
is $? 4 "output that cannot be written is an error"
finish
