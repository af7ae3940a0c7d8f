import { type DynamicModule, Logger } from '@nestjs/common';
import { PublicRoute } from '../access/index.js';
import {
  ConfigurationError,
  corsOrigins,
  credentials,
  type Environment,
  type Protocol,
  protocolsOf,
  retentionOptions,
  type ServiceAgent,
  shownNameOf,
} from '../config/index.js';
import { readJsonFile } from './json-file.js';
import { loadPackage } from './load-agent.js';

/** What the service uses of the package of a protocol. */
type ProtocolPackage = Record<
  string,
  { forRoot(options: object): DynamicModule; paths(prefix: string): object }
> & {
  faultsOfCard?: (card: unknown) => string[];
};

/** The class of each protocol's module, and its path: beside each agent. */
const VIEWS: Record<Exclude<Protocol, 'mcp'>, [name: string, path: string]> = {
  'ai-sdk': ['AiSdkModule', 'ai'],
  'ag-ui': ['AgUiModule', 'ag-ui'],
  openai: ['OpenAiModule', 'v1'],
  a2a: ['A2aModule', 'a2a'],
};

type Mount = (decorators: ClassDecorator[]) => DynamicModule[];

export interface LoadedProtocol {
  protocol: Protocol;
  /** @param decorators of the controllers */
  mount: Mount;
  /** Its routes beside each agent, as an OpenAPI document has them. */
  paths: object[];
}

/**
 * Loads the modules of other protocols. A service that names none has those whose packages are installed.
 *
 * @throws {ConfigurationError} `PROTOCOLS` names one, and the package is not installed; or `A2A_CARD_FILE` names no card
 */
export async function loadProtocols(
  environment: Environment,
  agents: ServiceAgent[],
): Promise<LoadedProtocol[]> {
  const loaded: LoadedProtocol[] = [];
  for (const protocol of protocolsOf(environment)) {
    const entry = await loadInstalled(protocol, environment);
    if (!entry) continue;
    const mount = protocol === 'mcp' ? serverOf(entry, agents, environment) : viewOf(protocol, entry, agents);
    loaded.push({ protocol, mount: await mount, paths: pathsOf(protocol, entry, agents) });
  }
  return loaded;
}

async function loadInstalled(
  protocol: Protocol,
  environment: Environment,
): Promise<ProtocolPackage | undefined> {
  try {
    const name = protocol === 'mcp' ? 'nest-agent-query-mcp' : `nest-agent-query-protocols/${protocol}`;
    return await loadPackage<ProtocolPackage>('PROTOCOLS', name);
  } catch (error) {
    if (environment.PROTOCOLS !== '' || !(error instanceof ConfigurationError)) throw error;
    new Logger('Protocols').debug(error.message);
    return undefined;
  }
}

async function viewOf(
  protocol: keyof typeof VIEWS,
  entry: ProtocolPackage,
  agents: ServiceAgent[],
): Promise<Mount> {
  const [className, path] = VIEWS[protocol];
  const cards = protocol === 'a2a' ? await Promise.all(agents.map((agent) => cardOf(agent, entry))) : [];
  return (decorators) =>
    agents.map(({ name }, index) => {
      const place = name === undefined ? { path } : { name, path: `${name}/${path}` };
      return entry[className]!.forRoot({ ...cards[index], ...place, decorators });
    });
}

function pathsOf(protocol: Protocol, entry: ProtocolPackage, agents: ServiceAgent[]): object[] {
  if (protocol === 'mcp') return [entry['McpModule']!.paths('')];
  return agents.map(({ name }) => entry[VIEWS[protocol][0]]!.paths(name === undefined ? '' : `/${name}`));
}

/** One server for all agents, which are its tools. */
function serverOf({ McpModule }: ProtocolPackage, agents: ServiceAgent[], environment: Environment): Mount {
  const { runMs: ttlMs } = retentionOptions(environment);
  return (decorators) => [
    McpModule!.forRoot({
      decorators,
      tools: agents.map(({ name: agent }) => ({ agent })),
      // Where it matters, the service has checked the header before.
      allowedHosts: '*',
      allowedOrigins: corsOrigins(environment) ?? [],
      ...(ttlMs !== undefined && { ttlMs }),
    }),
  ];
}

/** The card of an agent. It needs no credential: it tells which credentials the agent needs. */
async function cardOf(agent: ServiceAgent, { faultsOfCard }: ProtocolPackage): Promise<object> {
  const { A2A_CARD_FILE: path } = agent.environment;
  const sentence = 'A2A_CARD_FILE names no agent card.';
  const card = path === '' ? {} : await readJsonFile<object>(sentence, path, faultsOfCard!);
  return {
    card: { name: shownNameOf(agent), ...securityOf(agent.environment), ...card },
    cardDecorators: [PublicRoute()],
  };
}

/** The credentials of the service, as a card tells them: any one of them is enough. */
function securityOf(environment: Environment): object {
  const { keys = [], keysFile, jwt } = credentials(environment) ?? {};
  const hasKeys = keys.length > 0 || keysFile !== undefined;
  if (!hasKeys && !jwt) return {};
  const bearer = { scheme: 'Bearer', ...(!hasKeys && { bearerFormat: 'JWT' }) };
  return {
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: bearer },
      ...(hasKeys && { apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } }),
    },
  };
}
