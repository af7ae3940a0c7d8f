#!/usr/bin/env bash
# Traffic Server: a GET whose backend closes the connection without an answer is sent four times, a POST once.
#
# One would guess: a reverse proxy tells the client with 502, and the client decides whether to repeat.
# What happens: Traffic Server sends the GET again on new connections: by default three retries
# (proxy.config.http.connect_attempts_max_retries), which also count for a request that the backend has received.
# Then comes 502. A POST is sent once.
# Versions: Traffic Server 9.2 (Debian 12), Node 20.
# Why it matters: a GET that makes its backend fail, or starts expensive work there, does so four times for one click.
#
# Output that was seen:
#   GET: the backend received 4 requests, the client 502
#   POST: the backend received 1 request, the client 502
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && apt-get -qq download trafficserver libhwloc15 libpcre3 libyaml-cpp0.7 &&
	for package in *.deb; do dpkg-deb -x "$package" .; done) 2>/dev/null ||
	{ echo 'apt-get could not download the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';

const [dir] = process.argv.slice(2);
let proxy;
process.on('exit', () => proxy?.kill('SIGKILL'));
process.on('SIGTERM', () => process.exit(1));
let requests = 0;
/** Reads a request, and closes the connection without an answer. */
const backend = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => {
    requests += 1;
    socket.destroy();
  });
});
await once(backend.listen(0, '127.0.0.1'), 'listening');
const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
await new Promise((done) => probe.close(done));

const etc = `${dir}/etc/trafficserver`;
const own = 'prefix exec_prefix datadir includedir localstatedir runtimedir logdir cachedir'.split(' ');
mkdirSync(`${dir}/var/own`, { recursive: true });
const folders = Object.entries({
  ...Object.fromEntries(own.map((name) => [name, `${dir}/var/own`])),
  ...{ sysconfdir: etc, bindir: `${dir}/usr/bin`, sbindir: `${dir}/usr/sbin`, libdir: `${dir}/usr/lib` },
  libexecdir: `${dir}/usr/lib/trafficserver/modules`,
});
writeFileSync(`${dir}/runroot.yaml`, folders.map(([name, path]) => `${name}: ${path}\n`).join(''));
appendFileSync(
  `${etc}/records.config`,
  `CONFIG proxy.config.http.server_ports STRING ${port}:ip-in=127.0.0.1
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.crash_log_helper STRING NULL
CONFIG proxy.config.body_factory.template_sets_dir STRING ${etc}/body_factory\n`,
);
writeFileSync(`${etc}/remap.config`, `map / http://127.0.0.1:${backend.address().port}/\n`);
writeFileSync(`${etc}/storage.config`, `${dir}/var/own 16M\n`);
proxy = spawn(`${dir}/usr/bin/traffic_server`, [`--run-root=${dir}/runroot.yaml`], { stdio: 'ignore' });
const accepts = () =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => done(socket.destroy())).on('error', () => done());
  });
while (!(await accepts())) await new Promise((done) => setTimeout(done, 100));

for (const method of ['GET', 'POST']) {
  requests = 0;
  const headers = { host: 'localhost' };
  const sent = request({ host: '127.0.0.1', port, method, path: '/', headers, agent: false });
  sent.end(method === 'POST' ? 'text' : undefined);
  const [{ statusCode }] = await once(sent, 'response');
  const count = `${requests} request${requests === 1 ? '' : 's'}`;
  console.log(`${method}: the backend received ${count}, the client ${statusCode}`);
}
proxy.kill('SIGKILL');
backend.close();
process.exit();
EOF

libraries="$dir/usr/lib/$(uname -m)-linux-gnu:$dir/lib/$(uname -m)-linux-gnu:$dir/usr/lib/trafficserver"
seen=$(LD_LIBRARY_PATH=$libraries timeout 60 node "$dir/check.mjs" "$dir")
expected='GET: the backend received 4 requests, the client 502
POST: the backend received 1 request, the client 502'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: a GET without an answer is no longer sent four times.'
	exit 1
fi
