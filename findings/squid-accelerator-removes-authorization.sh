#!/usr/bin/env bash
# Squid: as an accelerator it removes the header Authorization, as a forward proxy it passes it on.
#
# One would guess: a proxy that is not told to check credentials passes Authorization on, as nginx, Apache, HAProxy and
# Varnish do, and as Squid itself does as a forward proxy.
# What happens: with `cache_peer … originserver` Squid removes it from each request, and says nothing in its log. The
# backend answers 401 to callers with a good key. `login=PASSTHRU` on cache_peer passes it on. Other headers, such as
# X-API-Key, arrive in any case.
# Versions: Squid 5.7 (Debian 12), Node 20.
# Why it matters: a service with bearer tokens refuses everybody behind Squid, and its log shows requests without a
# token: one looks for the fault in the clients.
#
# Output that was seen:
#   accelerator: authorization none, x-api-key two
#   accelerator with login=PASSTHRU: authorization Bearer one, x-api-key two
#   forward proxy: authorization Bearer one, x-api-key two
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && apt-get -qq download squid libecap3 libltdl7 libnetfilter-conntrack3 libnfnetlink0 &&
	for package in *.deb; do dpkg-deb -x "$package" .; done) 2>/dev/null ||
	{ echo 'apt-get could not download the packages'; exit 2; }
chmod 755 "$dir"

cat >"$dir/check.mjs" <<'EOF'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { connect } from 'node:net';

const [dir] = process.argv.slice(2);
let proxy;
process.on('exit', () => proxy?.kill('SIGKILL'));
process.on('SIGTERM', () => process.exit(1));
const freePort = async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((done) => probe.close(done));
  return port;
};
const backend = createServer(({ headers }, response) =>
  response.end(`authorization ${headers.authorization ?? 'none'}, x-api-key ${headers['x-api-key'] ?? 'none'}`),
);
await once(backend.listen(0, '127.0.0.1'), 'listening');
const to = backend.address().port;
mkdirSync(`${dir}/templates`);
writeFileSync(`${dir}/mime.conf`, '');

const accelerator = (port, options) =>
  `http_port 127.0.0.1:${port} accel defaultsite=localhost
cache_peer 127.0.0.1 parent ${to} 0 no-query originserver ${options}`;
const ways = [
  ['accelerator', (port) => accelerator(port, ''), '/'],
  ['accelerator with login=PASSTHRU', (port) => accelerator(port, 'login=PASSTHRU'), '/'],
  ['forward proxy', (port) => `http_port 127.0.0.1:${port}`, `http://127.0.0.1:${to}/`],
];
for (const [title, passing, path] of ways) {
  const port = await freePort();
  writeFileSync(
    `${dir}/squid.conf`,
    `${passing(port)}
http_access allow all
cache deny all
cache_effective_user nobody
pid_filename none
cache_log /dev/null
access_log none
netdb_filename none
pinger_enable off
unlinkd_program /bin/true
mime_table ${dir}/mime.conf
icon_directory ${dir}
error_directory ${dir}
coredump_dir none\n`,
  );
  proxy = spawn(`${dir}/usr/sbin/squid`, ['-N', '-f', `${dir}/squid.conf`], { stdio: 'ignore' });
  const accepts = () =>
    new Promise((done) => {
      const socket = connect(port, '127.0.0.1', () => done(socket.destroy())).on('error', () => done());
    });
  while (!(await accepts())) await new Promise((done) => setTimeout(done, 100));
  const headers = { host: `127.0.0.1:${to}`, authorization: 'Bearer one', 'x-api-key': 'two' };
  const [response] = await once(get({ host: '127.0.0.1', port, path, headers, agent: false }), 'response');
  let body = '';
  for await (const text of response.setEncoding('utf8')) body += text;
  console.log(`${title}: ${body}`);
  proxy.kill('SIGKILL');
  await once(proxy, 'exit');
}
process.exit();
EOF

libraries="$dir/usr/lib/$(uname -m)-linux-gnu:$dir/lib/$(uname -m)-linux-gnu"
seen=$(LD_LIBRARY_PATH=$libraries timeout 60 node "$dir/check.mjs" "$dir")
expected='accelerator: authorization none, x-api-key two
accelerator with login=PASSTHRU: authorization Bearer one, x-api-key two
forward proxy: authorization Bearer one, x-api-key two'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: an accelerator no longer removes Authorization.'
	exit 1
fi
