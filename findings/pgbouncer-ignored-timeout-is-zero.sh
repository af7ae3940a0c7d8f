#!/usr/bin/env bash
# PgBouncer: ignore_startup_parameters takes statement_timeout of pg, and the server has no time-out.
#
# One would guess: a client of pg with `statement_timeout: 1000` has a time-out of one second behind PgBouncer too, also
# with pool_mode = session, in which a client has its server connection alone.
# What happens: pg sends the setting as a startup parameter. PgBouncer refuses the connection with "unsupported startup
# parameter". Its own advice, ignore_startup_parameters = statement_timeout, lets the client connect. It drops the
# parameter: SHOW says 0, and a statement may take for ever.
# Versions: PgBouncer 1.18.0 and PostgreSQL 15 (Debian 12), pg 8.23.0.
# Why it matters: a statement that hangs holds its locks. Who added the line to get rid of the error has lost the limit
# without a word. SET after connecting, or `alter role … set statement_timeout`, gives it back.
#
# Output that was seen:
#   stock: connect fails: unsupported startup parameter: statement_timeout
#   ignore_startup_parameters = statement_timeout: connects, and statement_timeout is 0
#   after SET: statement_timeout is 1s
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
(start "$dir/usr/lib/postgresql/15/bin/initdb" -D "$dir/data" -U test -A trust --no-sync)
start "$dir/usr/lib/postgresql/15/bin/postgres" -D "$dir/data" -p "$postgres_port" -h 127.0.0.1 -k '' &
echo '"test" ""' >"$dir/users"
ports=()
for number in 1 2; do
	ports[number]=$(port)
	cat >"$dir/$number.ini" <<EOF
[databases]
* = host=127.0.0.1 port=$postgres_port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ports[number]}
unix_socket_dir =
auth_type = trust
auth_file = $dir/users
pool_mode = session
EOF
done
echo 'ignore_startup_parameters = statement_timeout' >>"$dir/2.ini"
for number in 1 2; do start "$dir/usr/sbin/pgbouncer" "$dir/$number.ini" & done

cat >"$dir/check.mjs" <<'EOF'
import pg from 'pg';

/** Connects as soon as Postgres and PgBouncer are there. Resolves with a client, or with what is refused for ever. */
async function connect(port) {
  for (;;) {
    const connectionString = `postgres://test@127.0.0.1:${port}/postgres`;
    const client = new pg.Client({ connectionString, statement_timeout: 1000 });
    client.on('error', () => undefined);
    const error = await client.connect().then(() => undefined, (thrown) => thrown);
    if (!error) return { client };
    if (error.message.includes('startup parameter')) return { refusal: error.message };
    await new Promise((done) => setTimeout(done, 200));
  }
}
const show = async (client) => (await client.query('show statement_timeout')).rows[0].statement_timeout;
const [stock, ignoring] = process.argv.slice(2);
console.log(`stock: connect fails: ${(await connect(stock)).refusal}`);
const { client } = await connect(ignoring);
const what = `connects, and statement_timeout is ${await show(client)}`;
console.log(`ignore_startup_parameters = statement_timeout: ${what}`);
await client.query("set statement_timeout = '1s'");
console.log(`after SET: statement_timeout is ${await show(client)}`);
await client.end();
EOF

seen=$(timeout 60 node "$dir/check.mjs" "${ports[@]}")
expected='stock: connect fails: unsupported startup parameter: statement_timeout
ignore_startup_parameters = statement_timeout: connects, and statement_timeout is 0
after SET: statement_timeout is 1s'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: the time-out is no longer dropped without a word.'
	exit 1
fi
