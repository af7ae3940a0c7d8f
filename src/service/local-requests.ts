import type { IncomingMessage, ServerResponse } from 'node:http';
import { allowedHosts, corsOrigins, type Environment, isLocalOnly } from '../config/index.js';
import { headerValues, problemOf, sendProblem } from '../query/index.js';

/** The headers that proxies add. */
const FORWARDING = /^(?:forwarded|via|x-real-ip|x-forwarded-.+)$/;

const CREDENTIALS = 'configure credentials, such as API_KEYS';

type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/**
 * Refuses what strangers can let a browser or a proxy of this machine send: without credentials, the service is for the programs
 * and pages of this machine alone. Whoever reaches a loopback address is not always there: a name of another site may be resolved
 * to it (DNS rebinding), and a proxy passes on what the internet sends.
 *
 * @returns undefined if credentials are configured, or `ACCESS=open`
 */
export function localRequestsOnly(environment: Environment): Middleware | undefined {
  if (!isLocalOnly(environment)) return undefined;
  const isAllowed = allowedHosts(environment);
  const origins = corsOrigins(environment) ?? [];
  return (request, response, next) => {
    const fault = faultOf(request, isAllowed, origins);
    if (fault === undefined) return next();
    const detail = `The service has no credentials, so it answers this machine only. ${fault}`;
    void sendProblem(problemOf(403, detail, 'forbidden'), response, request);
  };
}

function faultOf(
  request: IncomingMessage,
  isAllowed: (name: string) => boolean,
  origins: readonly string[] | '*',
): string | undefined {
  const { headers } = request;
  const forwarding = Object.keys(headers).find((name) => FORWARDING.test(name));
  if (forwarding !== undefined)
    return `A proxy has passed this request on (${forwarding}). To serve through a proxy, ${CREDENTIALS}.`;
  const hosts = headerValues(request, 'host').map(hostOf);
  if (hosts.length === 0 || !hosts.every((host) => host && isAllowed(host.hostname)))
    return `The header Host names another machine. Let ALLOWED_HOSTS list that name, or ${CREDENTIALS}.`;
  const sent = headerValues(request, 'origin');
  const isOwn = (origin: string) =>
    /^https?:\/\//.test(origin) && hostOf(origin.split('//')[1]!)?.host === hosts[0]!.host;
  if (!sent.every((origin) => origins.includes(origin) || isOwn(origin)))
    return `The page of another origin has sent this. Let CORS_ORIGIN list that origin, or ${CREDENTIALS}.`;
  if (headers['sec-fetch-site'] === 'cross-site' && !sent.some((origin) => origins.includes(origin)))
    return `The page of another site has sent this. Open the address itself, let CORS_ORIGIN list the site, or ${CREDENTIALS}.`;
  return undefined;
}

/** The parts of `Host`; undefined if the text is not a valid host. */
function hostOf(text: string): URL | undefined {
  return /^[\w.-]+(?::\d+)?$|^\[[\da-f:.]+\](?::\d+)?$/i.test(text) && URL.canParse(`http://${text}`)
    ? new URL(`http://${text}`)
    : undefined;
}
