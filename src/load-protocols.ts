import { type DynamicModule, Logger } from '@nestjs/common';
import { PublicRoute } from './access/index.js';
import {
  ConfigurationError,
  credentials,
  type Environment,
  type Protocol,
  protocolsOf,
  type ServiceAgent,
  shownNameOf,
} from './config/index.js';
import { readJsonFile } from './json-file.js';
import { loadPackage } from './load-agent.js';

interface MountOptions {
  name?: string;
  path: string;
  decorators: ClassDecorator[];
  card?: object;
  cardDecorators?: ClassDecorator[];
}

/** What the service uses of an entry of the package `nest-agent-query-protocols`. */
type ProtocolPackage = Record<string, { forRoot(options: MountOptions): DynamicModule }> & {
  faultsOfCard?: (card: unknown) => string[];
};

/** The class of each protocol's module, and its path. */
const MODULES: Record<Protocol, [name: string, path: string]> = {
  'ai-sdk': ['AiSdkModule', 'ai'],
  'ag-ui': ['AgUiModule', 'ag-ui'],
  openai: ['OpenAiModule', 'v1'],
  a2a: ['A2aModule', 'a2a'],
};

export interface LoadedProtocol {
  protocol: Protocol;
  mount: (agent: ServiceAgent, decorators: ClassDecorator[]) => DynamicModule;
}

/**
 * Loads the modules of other protocols. A service that names none has all, if their package is installed.
 *
 * @throws {ConfigurationError} `PROTOCOLS` names one, and the package is not installed; or `A2A_CARD_FILE` names no card
 */
export async function loadProtocols(
  environment: Environment,
  agents: ServiceAgent[],
): Promise<LoadedProtocol[]> {
  const protocols = protocolsOf(environment);
  const loaded = await loadEntries(environment, protocols);
  return Promise.all(loaded.map((entry, index) => mountable(protocols[index]!, entry, agents)));
}

async function loadEntries(environment: Environment, protocols: Protocol[]): Promise<ProtocolPackage[]> {
  try {
    return await Promise.all(
      protocols.map((each) =>
        loadPackage<ProtocolPackage>('PROTOCOLS', `nest-agent-query-protocols/${each}`),
      ),
    );
  } catch (error) {
    if (environment.PROTOCOLS !== '' || !(error instanceof ConfigurationError)) throw error;
    new Logger('Protocols').debug(error.message);
    return [];
  }
}

async function mountable(
  protocol: Protocol,
  entry: ProtocolPackage,
  agents: ServiceAgent[],
): Promise<LoadedProtocol> {
  const [className, path] = MODULES[protocol];
  const own = new Map<ServiceAgent, Partial<MountOptions>>();
  if (protocol === 'a2a') for (const agent of agents) own.set(agent, await cardOf(agent, entry));
  const mount: LoadedProtocol['mount'] = (agent, decorators) => {
    const { name } = agent;
    const options = { ...own.get(agent), decorators };
    return entry[className]!.forRoot(
      name === undefined ? { ...options, path } : { ...options, name, path: `${name}/${path}` },
    );
  };
  return { protocol, mount };
}

/** The card of an agent. It needs no credential: it tells which credentials the agent needs. */
async function cardOf(
  agent: ServiceAgent,
  { faultsOfCard }: ProtocolPackage,
): Promise<Partial<MountOptions>> {
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
