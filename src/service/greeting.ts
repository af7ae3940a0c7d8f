import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { credentials, type Environment, hasPlayground, type ServiceAgent } from '../config/index.js';

/** Tells the operator that the service listens, and how it is configured. As text it has a command to try each agent. */
export function greet(
  environment: Environment,
  agents: ServiceAgent[],
  { address, port, family }: AddressInfo,
): void {
  const host = family === 'IPv6' ? `[${address}]` : address;
  const url = `http://${host}:${port}`;
  // A client cannot call the address that stands for all addresses.
  const called = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  const facts = {
    ...agentsIn(agents),
    store: storeOf(environment.DATABASE_URL),
    access: accessOf(environment),
    ...(hasPlayground(environment) && { page: `${called}/` }),
  };
  if (environment.LOG_FORMAT === 'json') {
    new Logger('Service').log({ message: `nest-agent-query listens on ${url}`, ...facts });
    return;
  }
  const lines = Object.entries(facts).map(([name, value]) => `  ${name.padEnd(8)}${value}`);
  const credential = credentials(environment) ? "-H 'Authorization: Bearer <key>' " : '';
  const commands = agents.map(
    ({ name }) =>
      `curl -N ${credential}-H 'Content-Type: application/json' ` +
      `-d '{"parts":[{"type":"text","text":"Hello"}],"kwargs":{}}' ${called}${name === undefined ? '' : `/${name}`}/query\n\n`,
  );
  process.stdout.write(
    `nest-agent-query listens on ${url}\n\n${lines.join('\n')}\n\nTry it:\n\n${commands.join('')}`,
  );
}

function agentsIn(agents: ServiceAgent[]): Record<string, string> {
  const named = agents.map(({ name, environment: { AGENT } }) =>
    name === undefined ? AGENT : `${name}=${AGENT}`,
  );
  return { [agents[0]!.name === undefined ? 'agent' : 'agents']: named.join(', ') };
}

/** The store in words, without the user and the password of a database. */
function storeOf(url: string): string {
  if (url === 'memory:') return 'the memory of this process; nothing is kept after its end';
  if (url.startsWith('file:')) return `the SQLite file ${url.slice('file:'.length)}`;
  const { host, pathname } = new URL(url);
  return `Postgres, ${host}${pathname}`;
}

function accessOf(environment: Environment): string {
  const { ACCESS, API_KEYS_FILE, JWT_JWKS_URL, JWT_SECRET } = environment;
  if (ACCESS === 'open') return 'open to everybody who reaches the address (ACCESS=open)';
  const { keys = [], jwt } = credentials(environment) ?? {};
  const kinds = [
    keys.length > 0 && `API keys (${keys.length})`,
    API_KEYS_FILE !== '' && `API keys of the file ${API_KEYS_FILE}`,
    JWT_JWKS_URL !== '' && `tokens with the keys of ${new URL(JWT_JWKS_URL).host}`,
    JWT_SECRET !== '' && 'tokens with a shared secret',
  ].filter((kind) => kind !== false);
  if (kinds.length === 0) return 'open, from this machine only';
  return kinds.join(', ') + (jwt && jwt.audience === undefined ? '; JWT_AUDIENCE is not set' : '');
}
