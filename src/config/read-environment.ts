import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { Environment } from './environment.js';
import { isLoopback } from './lists.js';
import { hasCredentials, hasTokens } from './options.js';
import { misspelled } from './unknown-variables.js';

/** The service cannot start with this environment. The message has a line for each faulty variable. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/**
 * Reads the environment. An empty variable counts as absent.
 *
 * @throws {ConfigurationError} it names each faulty variable, its value and what it may be, and each variable that looks like
 * one of ours and is none
 */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const known = Object.keys(new Environment());
  const given = Object.fromEntries(
    known.flatMap((name) => (variables[name] ? [[name, variables[name]]] : [])),
  );
  const environment = plainToInstance(Environment, given);
  const faults = [
    ...misspelled(Object.keys(variables), known),
    ...validateSync(environment).flatMap(({ constraints }) => Object.values(constraints ?? {})),
    ...contradictions(environment),
  ];
  if (faults.length > 0) throw new ConfigurationError(faults.join('\n'));
  return environment;
}

/**
 * The variables of the process that do not belong to the service: what a program may see that the service starts. Ours contain
 * secrets.
 */
export function otherVariables(variables: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const known = Object.keys(new Environment());
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !known.includes(name)));
}

/** Variables that have no effect, or are not safe, with the values of others. */
function contradictions(environment: Environment): string[] {
  const { HOST, ACCESS, DATABASE_URL, QUEUE_URL, ROLE, RETENTION_FILE_MS } = environment;
  const { AGENT, COMMAND, COMMAND_PROCESSES, REMOTE_URL, REMOTE_HEADERS } = environment;
  const { MODEL_BASE_URL, MODEL } = environment;
  const ofModel = Object.entries(environment)
    .filter(([name, value]) => /^(?:MODEL|MCP)(?:_|$)/.test(name) && value !== '' && value !== undefined)
    .map(([name]) => name);
  const isShared = /^postgres(ql)?:/.test(DATABASE_URL);
  const isOpen = !hasCredentials(environment);
  const faults: [boolean, string][] = [
    [
      ACCESS !== 'open' && isOpen && !isLoopback(HOST),
      `HOST is ${JSON.stringify(HOST)}, which other machines reach, and no credentials are configured. ` +
        'Set API_KEYS, API_KEYS_FILE, JWT_JWKS_URL or JWT_SECRET. Or set HOST to 127.0.0.1. ' +
        'Or set ACCESS=open, so that everybody may use the service.',
    ],
    [
      ACCESS === 'open' && !isOpen,
      'ACCESS=open lets everybody use the service, but credentials are configured. Unset ACCESS or the credentials.',
    ],
    [
      !hasTokens(environment) && environment.JWT_ISSUER + environment.JWT_AUDIENCE !== '',
      'JWT_ISSUER and JWT_AUDIENCE have no effect without JWT_JWKS_URL or JWT_SECRET. Set one of these, or unset them.',
    ],
    [
      AGENT === 'command' && COMMAND === '',
      'AGENT is "command", and COMMAND is not set. Set it to the program that answers, such as COMMAND=\'python3 agent.py\'.',
    ],
    [
      AGENT !== 'command' && (COMMAND !== '' || COMMAND_PROCESSES !== undefined),
      'COMMAND and COMMAND_PROCESSES have no effect without AGENT=command. Set it, or unset them.',
    ],
    [
      DATABASE_URL === 'memory:' && RETENTION_FILE_MS !== undefined,
      'RETENTION_FILE_MS has no effect with DATABASE_URL=memory:, which keeps a file as long as its session. ' +
        'Unset RETENTION_FILE_MS, or let DATABASE_URL name a file or a Postgres database.',
    ],
    [
      AGENT === 'remote' && REMOTE_URL === '',
      'AGENT is "remote", and REMOTE_URL does not say where the remote service is. Set REMOTE_URL.',
    ],
    [
      AGENT !== 'remote' && REMOTE_URL + REMOTE_HEADERS !== '',
      'REMOTE_URL and REMOTE_HEADERS have no effect without AGENT=remote. Set AGENT, or unset them.',
    ],
    [
      AGENT === 'model' && (MODEL_BASE_URL === '' || MODEL === ''),
      'AGENT is "model", and MODEL_BASE_URL and MODEL do not say which model answers. Set both.',
    ],
    [
      AGENT !== 'model' && ofModel.length > 0,
      `${ofModel.join(', ')} ${ofModel.length === 1 ? 'has' : 'have'} no effect without AGENT=model. Set it, or unset them.`,
    ],
    [
      QUEUE_URL !== '' && !isShared,
      'QUEUE_URL has no effect with a DATABASE_URL that belongs to one process. ' +
        'Unset QUEUE_URL, or let DATABASE_URL name a Postgres database.',
    ],
    [
      ROLE !== 'all' && !isShared,
      `ROLE is "${ROLE}"; this needs a DATABASE_URL that several processes share: postgres://<user>@<host>/<database>.`,
    ],
  ];
  return faults.filter(([isFault]) => isFault).map(([, sentence]) => sentence);
}
