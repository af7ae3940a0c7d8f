#!/usr/bin/env bash
# PgBouncer, transaction mode: a notification reaches the client that sent it, and not the one that listens.
#
# One would guess: LISTEN is refused in transaction mode, or its notifications are lost, as the table of features of
# PgBouncer says "Never" for it.
# What happens: LISTEN succeeds. It belongs to the connection to the server, which all clients share in turn. Postgres
# sends the notification on that connection in the transaction of whoever notifies, so PgBouncer passes it to this
# client: one that never listened, and that may belong to another program with the same database and user.
# Versions: PgBouncer 1.18.0 and PostgreSQL 15 (Debian 12), pg 8.23.0.
# Why it matters: a service that tells its processes of news with NOTIFY works with one process, and is silent with two.
# What it sends is handed to strangers.
#
# Output that was seen:
#   LISTEN of A: done
#   NOTIFY of B: A received nothing, B received "news"
set -euo pipefail
dir=$(mktemp -d)
trap '{ kill -9 $(jobs -p); wait; } 2>/dev/null || true; rm -rf "$dir"' EXIT
(cd "$dir" && apt-get -qq download pgbouncer libc-ares2 libevent-2.1-7 postgresql-15 libpq5 &&
	for package in *.deb; do dpkg-deb -x "$package" .; done) 2>/dev/null ||
	{ echo 'apt-get could not download the packages'; exit 2; }
npm install --silent --no-audit --no-fund --prefix "$dir" pg@8.23.0 ||
	{ echo 'npm could not install the package'; exit 2; }

# Both programs refuse to be root.
mkdir "$dir/data"
as_user=()
if [ "$(id -u)" = 0 ]; then
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chmod 755 "$dir" && chown 65534:65534 "$dir/data"
fi
libraries="$dir/usr/lib/$(uname -m)-linux-gnu"
start() { cd "$dir" && LD_LIBRARY_PATH=$libraries exec "${as_user[@]}" "$@" >/dev/null 2>&1; }
port() { node -e 's = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'; }
postgres_port=$(port)
port=$(port)
(start "$dir/usr/lib/postgresql/15/bin/initdb" -D "$dir/data" -U test -A trust --no-sync)
start "$dir/usr/lib/postgresql/15/bin/postgres" -D "$dir/data" -p "$postgres_port" -h 127.0.0.1 -k '' &
echo '"test" ""' >"$dir/users"
cat >"$dir/pgbouncer.ini" <<EOF
[databases]
* = host=127.0.0.1 port=$postgres_port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = trust
auth_file = $dir/users
pool_mode = transaction
EOF
start "$dir/usr/sbin/pgbouncer" "$dir/pgbouncer.ini" &

cat >"$dir/check.mjs" <<'EOF'
import pg from 'pg';

const connectionString = `postgres://test@127.0.0.1:${process.argv[2]}/postgres`;
const received = { A: [], B: [] };
const open = async (name) => {
  for (;;) {
    const client = new pg.Client({ connectionString });
    client.on('error', () => undefined);
    client.on('notification', ({ payload }) => received[name].push(`"${payload}"`));
    if (await client.connect().then(() => true, () => false)) return client;
    await new Promise((done) => setTimeout(done, 200));
  }
};
const a = await open('A');
const b = await open('B');
await a.query('listen channel');
console.log('LISTEN of A: done');
await b.query("notify channel, 'news'");
await new Promise((done) => setTimeout(done, 1000));
const what = (name) => `${name} received ${received[name].join() || 'nothing'}`;
console.log(`NOTIFY of B: ${what('A')}, ${what('B')}`);
await a.end();
await b.end();
EOF

seen=$(timeout 60 node "$dir/check.mjs" "$port")
expected='LISTEN of A: done
NOTIFY of B: A received nothing, B received "news"'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: the notification no longer goes to the sender alone.'
	exit 1
fi
