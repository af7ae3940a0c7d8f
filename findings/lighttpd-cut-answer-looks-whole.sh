#!/usr/bin/env bash
# lighttpd: an answer whose backend died in the middle reaches the client whole, with a Content-Length that fits.
#
# One would guess: when the connection to the backend closes before the last chunk, the client gets 502, or sees that its
# own connection is cut, as with nginx over HTTP/1.1, Apache, HAProxy, Varnish and Squid.
# What happens: mod_proxy collects the answer, counts what has come when the backend is gone, and sends 200 with this
# count as Content-Length. No client can tell it from a whole answer. With server.stream-response-body = 1 the client
# sees the cut: the last chunk is missing.
# Versions: lighttpd 1.4.69 (Debian 12), Node 20.
# Why it matters: the answer of an agent streams for minutes. A client that takes the end of a body for the end of the
# answer shows half of it as all. The protocol needs an event of its own for the end.
#
# Output that was seen:
#   stock: 200, content-length 10, body "first half", complete
#   server.stream-response-body = 1: 200, no content-length, body "first half", cut
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && apt-get -qq download lighttpd && dpkg-deb -x lighttpd_*.deb .) 2>/dev/null ||
	{ echo 'apt-get could not download the package lighttpd'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect, createServer } from 'node:net';

const [dir] = process.argv.slice(2);
let proxy;
process.on('exit', () => proxy?.kill('SIGKILL'));
process.on('SIGTERM', () => process.exit(1));
/** Sends the first chunk of an answer, and closes the connection, as the system does for a process that is killed. */
const backend = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write('a\r\nfirst half\r\n', () => setTimeout(() => socket.destroy(), 300));
  });
});
await once(backend.listen(0, '127.0.0.1'), 'listening');

for (const setting of ['', 'server.stream-response-body = 1']) {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((done) => probe.close(done));
  writeFileSync(
    `${dir}/l.conf`,
    `server.modules = ("mod_proxy")
server.document-root = "${dir}"
server.bind = "127.0.0.1"
server.port = ${port}
proxy.server = ("" => (("host" => "127.0.0.1", "port" => ${backend.address().port})))
${setting}\n`,
  );
  proxy = spawn(`${dir}/usr/sbin/lighttpd`, ['-D', '-f', `${dir}/l.conf`, '-m', `${dir}/usr/lib/lighttpd`]);
  const accepts = () =>
    new Promise((done) => {
      const socket = connect(port, '127.0.0.1', () => done(socket.destroy())).on('error', () => done());
    });
  while (!(await accepts())) await new Promise((done) => setTimeout(done, 50));
  const [response] = await once(get({ host: '127.0.0.1', port, agent: false }), 'response');
  let body = '';
  response.on('data', (bytes) => (body += bytes)).on('error', () => undefined);
  await new Promise((done) => response.once('close', done));
  const length = response.headers['content-length'];
  const end = response.complete ? 'complete' : 'cut';
  const size = length === undefined ? 'no content-length' : `content-length ${length}`;
  console.log(`${setting || 'stock'}: ${response.statusCode}, ${size}, body "${body}", ${end}`);
  proxy.kill();
  await once(proxy, 'exit');
}
backend.close();
EOF

seen=$(timeout 60 node "$dir/check.mjs" "$dir")
expected='stock: 200, content-length 10, body "first half", complete
server.stream-response-body = 1: 200, no content-length, body "first half", cut'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: an answer that was cut no longer arrives as a whole one.'
	exit 1
fi
