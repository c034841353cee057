#!/bin/sh
# shared.t: runs that share an archive on a real PostgreSQL, which is killed and started again
# meanwhile. tests/unit/test_shared.c has the archive by itself.
MONKEYS=${MONKEYS_PG:-$(pwd)/build/release/monkeys-pg}
. tests/cli/lib.sh
. tests/cli/run/lib.sh
. tests/cli/run/elsewhere.sh
. tests/cli/shared/postgres.sh

# What needs no server.
plain=$root/build/release/monkeys
if [ -x "$plain" ]; then
    monkeys=$plain
    run run --dsl c-cpu --device cpu $quick --cassette quick.jsonl --archive postgres://u:geheim@h/d --out no
    is $status 2 "a program that was built without PG=1 refuses a shared archive"
    is "$err" "monkeys run: --archive: postgres://u@h/d: this program was built without PostgreSQL; build it with 'make PG=1'" \
        "… and says how to build it"
    monkeys=$MONKEYS
fi
[ -x "$monkeys" ] && have_postgres || {
    echo "1..$count # SKIP the rest needs make build/release/monkeys-pg, and PostgreSQL"
    exit $((failed > 0))
}
run run --dsl c-cpu --device cpu $quick --cassette quick.jsonl --out no \
    --archive postgres://u:geheim@127.0.0.1:1/d
is "$status" 4 "a server that is not there: no run"
is "$err" 'monkeys run: --archive: postgres://u@127.0.0.1:1/d: connection to server at "127.0.0.1", port 1 failed: Connection refused' \
    "… one line says so, without the password"
[ ! -e "$work/no" ]
ok "… and nothing is left"
run run --dsl c-cpu --device cpu $quick --cassette quick.jsonl --out no --archive postgres://u:gehe/im@h/d
like "$status $err" "2 monkeys run: --archive: the address is ambiguous: *%2F*" "an unclear address is refused"
is "$(printf %s "$err" | grep -c gehe)" 0 "… without a word of it"

pg=$(mktemp -d)
make_postgres "$pg" && start_postgres "$pg"
trap 'stop_postgres "$pg"; rm -rf "$work" "$pg"' EXIT
address=$(cat "$pg/address")
# A server that wants no password takes any.
secret=$(printf %s "$address" | sed 's/postgres@/postgres:geheim@/')
set -- --dsl c-cpu --device cpu --children 1 --batch 1
one() { printf -- '--tasks four/starter/%s.py' "$1"; }
rows() { # RUN QUERY: of run.db
    python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print(*row, sep="|")' "$work/$1/run.db" "$2"
}

# Two runs: the second is shown what the first has solved.
elsewhere first "$@" $(one 01_swish) --attempts 1 --cassette real.jsonl --archive "$secret"
is $status 0 "a run with a shared archive"
run archive list "$address"
like "$out" "starter_01_swish *verified monkeys, attempt 1,*" "… adds what it solves"
is "$(printf '%s\n' "$out" | wc -l)" 1 "… and nothing else"
run archive list "$secret" --json
like "$out" '{"name":"starter_01_swish",*' "… which can be listed"
grep -rq geheim "$work/first" || printf %s "$out$err" | grep -q geheim
is $? 1 "the password is in no file of the run and in no output"
like "$(grep '^archive' "$work/first/run.ini")" "archive = $address" "… run.ini has the address without it"

# The server dies after the first request of the second run, which solves its task meanwhile; it
# comes back before the third. answers.py is asked once for a plan and once for code.
cat >"$work/meanwhile.sh" <<END
cd "$root"
. tests/cli/shared/postgres.sh
echo x >>"$work/requests"
case \$(wc -l <"$work/requests") in
1) kill_postgres "$pg" ;;
\$1) start_postgres "$pg" ;;
esac >/dev/null 2>&1 </dev/null
END
meanwhile() { printf 'sh %s/meanwhile.sh %s; %s command %s/real.jsonl %s/asked' "$work" "$1" "$answers" "$work" "$work"; }
run run "$@" $(one 05_logsumexp) --force --attempts 2 --in-flight 1 --out second --archive "$address" \
    --command "$(meanwhile 3)"
is $status 0 "a server that is killed and comes back does not stop a run"
is "$(printf '%s\n' "$err" | grep -c 'the shared archive cannot be reached, the run continues without it: ')" 1 \
    "… which says so once"
is "$(rows second "SELECT name FROM entry WHERE origin = 'archive'")" starter_01_swish "… starts with what was there"
is "$(rows second 'SELECT count(*) FROM shown JOIN entry USING (entry) WHERE origin = "archive"')" 2 \
    "… shows it to its attempts"
is "$(sql 'SELECT version, name FROM monkeys_kernel ORDER BY 1')" "1|starter_01_swish
2|starter_05_logsumexp" "… and what it has solved is there in the end"

# Never back: the kernel waits in the run, and resume sends it, once.
rm "$work/requests"
run run "$@" $(one 04_softmax) --force --attempts 2 --in-flight 1 --out third --archive "$address" \
    --command "$(meanwhile never)"
is $status 0 "a run whose server does not come back"
like "$err" "*1 kernel has not reached the shared archive; 'monkeys resume third' sends it*" "… says what is missing"
before=$(tables third)
run resume third
is $status 0 "continued without a server it has nothing to do"
start_postgres "$pg"
is "$(sql 'SELECT count(*) FROM monkeys_kernel')" 2 "the kernel is not there"
run resume third
is "$status $(sql 'SELECT count(*) FROM monkeys_kernel')" "0 3" "resume sends it"
run resume third
is "$status $(sql 'SELECT count(*) FROM monkeys_kernel')" "0 3" "… once"
is "$(tables third)" "$before" "… and the run is what it was"
is "$(sort "$work/asked" | uniq -d | wc -l)" 0 "nothing was asked twice"

# A server that asks for a password.
sql "CREATE ROLE guest LOGIN PASSWORD 'geheim'; GRANT SELECT ON monkeys_kernel TO guest" >/dev/null
as_postgres sh -c "{ echo 'local all guest scram-sha-256'; cat $pg/data/pg_hba.conf; } >$pg/hba && cat $pg/hba >$pg/data/pg_hba.conf"
sql "SELECT pg_reload_conf()" >/dev/null
guest=$(printf %s "$address" | sed 's/postgres@/guest@/') known=$(printf %s "$address" | sed 's/postgres@/guest:geheim@/')
for i in $(seq 300); do # a reload takes effect when the server gets to it
    run archive list "$guest"
    [ $status = 0 ] || break
    sleep 0.1
done
like "$status $err" "2 *no password supplied; put the password into ~/.pgpass or PGPASSWORD" "without the password: a line that says where it belongs"
run archive list "$(printf %s "$known" | sed 's/geheim/falsch/')"
like "$status $err" "2 monkeys archive list: $guest: *password authentication failed for user *guest*" "a wrong one is refused"
is "$(printf %s "$err" | grep -c falsch)" 0 "… and not repeated"
run archive list "$known"
is "$status $(printf '%s\n' "$out" | wc -l)" "0 3" "the right one in the address works"
printf '*:*:*:guest:geheim\n' >"$work/.pgpass"
chmod 600 "$work/.pgpass"
run archive list "$guest"
is "$status $(printf '%s\n' "$out" | wc -l)" "0 3" "… and in ~/.pgpass"

# A kernel that is added in the middle: by the third request, which is in the second round.
sql "CREATE TABLE kept AS SELECT * FROM monkeys_kernel; DELETE FROM monkeys_kernel"
cat >"$work/add.sh" <<END
cd "$root"
. tests/cli/shared/postgres.sh
pg=$pg
echo x >>"$work/requests"
[ \$(wc -l <"$work/requests") != 3 ] || sql "INSERT INTO monkeys_kernel SELECT * FROM kept WHERE version = 1;
    INSERT INTO monkeys_kernel SELECT 2, 'bad', name, dsl, task_hash, task, sidecar, plan, solution, ported, meta FROM kept WHERE version = 2;
    SELECT pg_notify('monkeys_archive', '2')" >/dev/null
# An eager run has it before it gets the next answer, however slow the machine is.
[ "\$(wc -l <"$work/requests") \$1" != "4 eager" ] || python3 -c 'import sqlite3, time
db = sqlite3.connect("file:$work/eager/run.db?mode=ro", uri=True)
for _ in range(600):
    if db.execute("SELECT 1 FROM entry WHERE origin = \"shared\"").fetchall(): break
    time.sleep(0.1)'
END
adding="sh $work/add.sh \$order; $answers command $work/late.jsonl"
$answers cassette monkeys starter/22_mse_loss=snsn >"$work/late.jsonl"
rm "$work/requests"
unjudged="--force --verifier jobs=unasked"
run run "$@" $(one 22_mse_loss) $unjudged --attempts 4 --in-flight 1 --out strict --archive "$address" \
    --command "order=strict; $adding"
is $status 0 "a strict run, while another adds a kernel"
is "$(rows strict "SELECT name, version FROM entry WHERE origin = 'shared'")" "starter_01_swish|2" "… takes it"
is "$(rows strict 'SELECT round, shared_version, version FROM look')" "0|0|1
1|0|1
2|0|1
3|2|2
4|2|2" "… at the next boundary, and stores the version of the shared archive at each"
is "$(rows strict 'SELECT attempt, archive_version FROM attempt')" "1|1
2|1
3|2
4|2" "… so that later attempts see it"
like "$err" "*kernel 2 of the shared archive is left out: its texts do not have its hash*" "a row that is no kernel is refused"
like "$err" "*1 kernel joined from the shared archive, version 2*" "… and the log says what has joined"

sql "DELETE FROM monkeys_kernel"
rm "$work/requests"
run run "$@" $(one 22_mse_loss) $unjudged --attempts 4 --in-flight 1 --order eager --out eager \
    --archive "$address" --command "order=eager; $adding"
is "$status $(rows eager "SELECT name, version FROM entry WHERE origin = 'shared'")" "0 starter_01_swish|2" \
    "an eager run takes it, too"
is "$(rows eager 'SELECT max(archive_version) FROM attempt')" 2 "… and shows it to the attempts after that"
before=$(tables eager)
stop_postgres "$pg"
run resume eager
is "$status $(tables eager)" "0 $before" "without a server, what a run has seen is in its own store"
finish
