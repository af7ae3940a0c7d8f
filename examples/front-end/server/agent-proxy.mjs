import { createHmac } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream';

/** The routes of the service that a page may use. */
const ROUTES = /^\/(?:ai\/chat|query)(?:\/|$)/;

/** What belongs to one of the two connections only; and credentials, which the page must not choose. */
const OWN = ['authorization', 'connection', 'cookie', 'expect', 'host', 'keep-alive', 'x-api-key'];

/**
 * Passes requests of a page on to the service, as the user who has logged in.
 *
 * @param service its `url`, and what it has as `JWT_SECRET`, `JWT_ISSUER` and `JWT_AUDIENCE`
 */
export function agentProxy({ url, secret, issuer, audience }) {
  const client = url.startsWith('https:') ? https : http;

  /** A token (JWT, HS256) that says for five minutes who asks. A response may last longer than that. */
  const tokenOf = (user) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, aud: audience, sub: user, iat: now, exp: now + 300 };
    const signed = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded(claims)}`;
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };

  /** @param path with its query, as the server has parsed it */
  return function pass(request, response, path, user) {
    const headers = { ...passedOn(request.headers), authorization: `Bearer ${tokenOf(user)}` };
    const passed = client.request(url, { method: request.method, path, headers });
    passed.on('response', (answer) => {
      // At once: the first event may come late.
      response.writeHead(answer.statusCode, passedOn(answer.headers)).flushHeaders();
      // Piece by piece. What is cut on one side is cut on the other one, so that the page can tell.
      pipeline(answer, response, () => {});
    });
    passed.on('error', () => {
      if (response.headersSent) return;
      response.writeHead(502, { 'content-type': 'text/plain' }).end('The agent cannot be reached.\n');
    });
    // A service that refuses an upload does not read the rest of it.
    passed.on('close', () => request.resume());
    // The page has left: the service decides what becomes of its run.
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  };
}

export function isRouteOfAgent(path) {
  return ROUTES.test(path);
}

function passedOn(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.includes(name)));
}

function encoded(value) {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
