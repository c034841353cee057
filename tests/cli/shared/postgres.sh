# postgres.sh: a private PostgreSQL in $pg, sourced by a test or run by one:
#
#   sh tests/cli/shared/postgres.sh have|start|stop|kill|again|freeze|thaw DIR
#
# It needs no service of the system, listens on a socket in its folder and on no port, and
# leaves nothing behind. The database is `postgres`; its address is in DIR/address.

# bin: the newest server that Debian has installed.
postgres_bin() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

have_postgres() {
    [ -x "$(postgres_bin)/initdb" ] && { [ "$(id -u)" != 0 ] || id postgres >/dev/null 2>&1; }
}

# A server refuses to run as root.
as_postgres() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid=postgres --init-groups "$@"
    else
        "$@"
    fi
}

make_postgres() { # DIR
    pg=$1
    mkdir -p "$pg" && chmod 755 "$pg"
    [ "$(id -u)" != 0 ] || chown postgres "$pg"
    as_postgres "$(postgres_bin)/initdb" -D "$pg/data" -A trust -U postgres -N -E UTF8 --locale=C \
        >"$pg/initdb.log" 2>&1 || return 1
    printf 'postgres://postgres@%s/postgres' "$(printf %s "$pg" | sed 's|/|%2F|g')" >"$pg/address"
}

start_postgres() { # DIR
    as_postgres "$(postgres_bin)/pg_ctl" -D "$1/data" -w -t 120 -l "$1/log" -s \
        -o "-c listen_addresses= -c unix_socket_directories=$1 -c fsync=off -c shared_buffers=16MB \
            -c autovacuum=off -c max_connections=20 -c max_wal_size=64MB" start </dev/null >/dev/null 2>&1
}

stop_postgres() { # DIR
    as_postgres "$(postgres_bin)/pg_ctl" -D "$1/data" -w -t 120 -s -m immediate stop >/dev/null 2>&1
}

# kill_postgres DIR: the postmaster dies at once, and its children with it.
kill_postgres() {
    pid=$(head -n 1 "$1/data/postmaster.pid")
    children=$(pgrep -P "$pid")
    kill -9 "$pid"
    for one in $pid $children; do
        while kill -0 "$one" 2>/dev/null; do sleep 0.1; done
    done
}

sql() { # QUERY: rows, a line each
    as_postgres "$(postgres_bin)/psql" -h "$pg" -U postgres -d postgres -Atqc "$1" </dev/null
}

case ${0##*/}:${1:-} in
postgres.sh:have)
    have_postgres
    ;;
postgres.sh:start)
    have_postgres && make_postgres "$2" && start_postgres "$2"
    ;;
postgres.sh:stop)
    stop_postgres "$2"
    ;;
postgres.sh:kill)
    kill_postgres "$2"
    ;;
postgres.sh:freeze | postgres.sh:thaw)
    pid=$(head -n 1 "$2/data/postmaster.pid")
    [ "$1" = thaw ] && signal=CONT || signal=STOP
    kill -$signal "$pid" $(pgrep -P "$pid")
    ;;
postgres.sh:again)
    start_postgres "$2"
    ;;
esac
