import { type Command, InvalidArgumentError, Option } from 'commander';
import { AgentQueryClient, type AgentQueryClientOptions } from '../client/index.js';
import { UsageError } from './failures.js';

/** The options that hold for every command that asks a service. */
interface ServiceOptions {
  url: string;
  path: string;
  key?: string;
  kwargs?: Record<string, unknown>;
}

/** Adds the options that say which service is asked. They may stand before and after the name of a command. */
export function addServiceOptions(program: Command): Command {
  return program
    .addOption(
      new Option('--url <url>', 'where the service is; of several agents, with /NAME')
        .env('AGENT_QUERY_URL')
        .default('http://127.0.0.1:3000'),
    )
    .addOption(new Option('--path <path>', 'the path of the endpoint below the URL').default('query'))
    .addOption(
      new Option(
        '--key <key>',
        'an API key or a token; better in the variable, because lists of processes show options',
      ).env('AGENT_QUERY_KEY'),
    )
    .addOption(new Option('--kwargs <json>', 'metadata of a query: a JSON object').argParser(kwargsOf));
}

/** A client of the service that the options name. */
export function connect(command: Command, options: AgentQueryClientOptions = {}): AgentQueryClient {
  const { url, path, key } = optionsOf(command);
  if (!isAddress(url))
    throw new UsageError(
      `The URL of the service is ${JSON.stringify(url)}. It must begin with http:// or https://, and have no user, ` +
        '"?" or "#". --url or AGENT_QUERY_URL sets it.',
    );
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new UsageError(
      'The key must consist of visible ASCII characters. --key or AGENT_QUERY_KEY sets it.',
    );
  return new AgentQueryClient({
    baseUrl: url,
    path,
    ...(key !== undefined && { headers: { Authorization: `Bearer ${key}` } }),
    ...options,
  });
}

/** The metadata that `--kwargs` gives. */
export function kwargsGiven(command: Command): Record<string, unknown> {
  return optionsOf(command).kwargs ?? {};
}

function optionsOf(command: Command): ServiceOptions {
  return command.optsWithGlobals<ServiceOptions>();
}

function isAddress(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, search, hash } = new URL(url);
  return /^https?:$/.test(protocol) && username + search + hash === '';
}

function kwargsOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // What is not JSON is no object either.
  }
  throw new InvalidArgumentError(`It must be a JSON object, such as '{"temperature":0.2}'.`);
}
