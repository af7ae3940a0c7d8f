import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agentProxy, isRouteOfAgent } from './agent-proxy.mjs';
import { Logins } from './logins.mjs';

const {
  PORT = '8080',
  SERVICE_URL = 'http://127.0.0.1:3000',
  JWT_SECRET = '',
  JWT_ISSUER = 'front-end',
  JWT_AUDIENCE = 'agent',
  USERS = 'ann:ann-1,bob:bob-1',
  PAGE = fileURLToPath(new URL('../dist', import.meta.url)),
  NODE_ENV,
} = process.env;
if (Buffer.byteLength(JWT_SECRET) < 32) throw new Error('JWT_SECRET needs at least 32 bytes.');

const logins = new Logins(new Map(USERS.split(',').map((user) => user.split(':'))), {
  secure: NODE_ENV === 'production',
});
const passToAgent = agentProxy({
  url: SERVICE_URL,
  secret: JWT_SECRET,
  issuer: JWT_ISSUER,
  audience: JWT_AUDIENCE,
});

const server = createServer((request, response) => {
  answer(request, response).catch(() => refuse(response, 400, 'The request cannot be read.'));
});
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Open http://127.0.0.1:${server.address().port}/`);
});

async function answer(request, response) {
  // Only the path counts: an address in the request must not choose where it is sent.
  const { pathname, search } = new URL(request.url, 'http://page');
  const user = logins.userOf(request);
  if (request.method !== 'GET' && isOfOtherSite(request)) return refuse(response, 403, 'Not from there.');
  if (isRouteOfAgent(pathname)) {
    if (user === undefined) return refuse(response, 401, 'Log in first.');
    return passToAgent(request, response, pathname + search, user);
  }
  switch (`${request.method} ${pathname}`) {
    case 'POST /login':
      return logIn(request, response);
    case 'POST /logout':
      return response.writeHead(204, { 'set-cookie': logins.end(request) }).end();
    case 'GET /user':
      if (user === undefined) return refuse(response, 401, 'Log in first.');
      return response.writeHead(200, { 'cache-control': 'no-store' }).end(user);
    default:
      return page(pathname, response);
  }
}

async function logIn(request, response) {
  const { name, password } = JSON.parse(await textOf(request));
  const cookie = logins.begin(name, password);
  if (!cookie) return refuse(response, 401, 'The name or the password is wrong.');
  response.writeHead(204, { 'set-cookie': cookie }).end();
}

async function textOf(request) {
  let text = '';
  for await (const chunk of request) if ((text += chunk).length > 10_000) throw new Error('Too long.');
  return text;
}

/** Browsers say where a request comes from. A page of another site must not act for the user. */
function isOfOtherSite({ headers }) {
  return !['same-origin', undefined].includes(headers['sec-fetch-site']);
}

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css' };

async function page(pathname, response) {
  const file = pathname === '/' ? '/index.html' : pathname;
  const type = TYPES[extname(file)];
  const bytes = type && (await readFile(join(PAGE, file)).catch(() => undefined));
  if (!bytes) return refuse(response, 404, 'There is no such page.');
  response.writeHead(200, { 'content-type': type }).end(bytes);
}

function refuse(response, status, sentence) {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${sentence}\n`);
}
