#!/bin/sh
# circles.t: the check that no files use each other in a circle.
. tests/cli/lib.sh

compile() { # NAME TEXT
    echo "$2" >"$work/$1.c"
    cc -c -o "$work/$1.o" "$work/$1.c" || exit 1
}
circles() { # NAME…
    out=$(cd "$work" && "$root/tests/circles" "$@" 2>"$work/.err")
    status=$?
    err=$(cat "$work/.err")
}

compile top 'int middle(void); int top(void) { return middle(); }'
compile middle 'int low(void); int middle(void) { return low(); }'
compile low 'int low(void) { return 1; }'
circles top.o middle.o low.o
is $status 0 "files that use each other one way pass"
is "$out" "no circle: low middle top" "… and are named in their order"

compile low 'int middle(void); int low(void) { return middle(); }'
circles top.o middle.o low.o
is $status 1 "two files that use each other fail"
like "$err" "*low.c uses middle.c*" "… and are named"
case $err in *top.c*) false ;; *) true ;; esac
ok "… without the one that only uses them"

finish
