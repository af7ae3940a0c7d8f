import { type Command, InvalidArgumentError, Option } from 'commander';
import { AgentQueryClient, type AgentQueryClientOptions } from 'nest-agent-query-client';
import { addressOf, credentialOf } from './address.js';
import { proxyFor } from './proxy/forward-proxy.js';
import { proxiedFetch } from './proxy/proxied-fetch.js';

/** The options that hold for every command that asks a service. */
interface ServiceOptions {
  url: string;
  agent?: string;
  path: string;
  key?: string;
  kwargs?: Record<string, unknown>;
}

/** Adds the options that say which service is asked. They may stand before and after the name of a command. */
export function addServiceOptions(program: Command): Command {
  // A variable without a value is how an .env file or a compose file leaves it out.
  for (const name of ['AGENT_QUERY_URL', 'AGENT_QUERY_KEY'])
    if (process.env[name] === '') delete process.env[name];
  return program
    .addOption(
      new Option('--url <url>', 'where the service is')
        .env('AGENT_QUERY_URL')
        .default('http://127.0.0.1:3000'),
    )
    .addOption(
      new Option('--agent <name>', 'the agent to ask, where the service has several').argParser(agentOf),
    )
    .addOption(new Option('--path <path>', 'the path of the endpoint below the URL').default('query'))
    .addOption(
      new Option(
        '--key <key>',
        'an API key or a token; better in the variable, because lists of processes show options',
      ).env('AGENT_QUERY_KEY'),
    )
    .addOption(
      new Option('--kwargs <json>', 'what the agent gets besides the text: a JSON object').argParser(
        kwargsOf,
      ),
    );
}

/** A client of the service that the options name, through the proxy that the environment names. */
export function connect(command: Command, options: AgentQueryClientOptions = {}): AgentQueryClient {
  const { url, agent, path, key } = optionsOf(command);
  const address = addressOf(url, agent);
  const proxy = proxyFor(address);
  return new AgentQueryClient({
    baseUrl: address.href,
    path,
    headers: credentialOf(key),
    ...(proxy && { fetch: proxiedFetch(proxy, address) }),
    ...options,
  });
}

/** What `--kwargs` gives. */
export function kwargsGiven(command: Command): Record<string, unknown> {
  return optionsOf(command).kwargs ?? {};
}

function optionsOf(command: Command): ServiceOptions {
  return command.optsWithGlobals<ServiceOptions>();
}

function agentOf(text: string): string {
  if (/^[a-z](?:-?[a-z0-9])*$/.test(text)) return text;
  throw new InvalidArgumentError('The name of an agent has letters from a to z, digits and single "-".');
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
