import { type DynamicModule, Logger } from '@nestjs/common';
import { ConfigurationError, type Environment, type Protocol, protocolsOf } from './config/index.js';
import { loadPackage } from './load-agent.js';

interface MountOptions {
  name?: string;
  path: string;
  decorators: ClassDecorator[];
}

/** What the service uses of an entry of the package `nest-agent-query-protocols`. */
type ProtocolPackage = Record<string, { forRoot(options: MountOptions): DynamicModule }>;

/** The class of each protocol's module, and its path. */
const MODULES: Record<Protocol, [name: string, path: string]> = {
  'ai-sdk': ['AiSdkModule', 'ai'],
  'ag-ui': ['AgUiModule', 'ag-ui'],
  openai: ['OpenAiModule', 'v1'],
};

export interface LoadedProtocol {
  protocol: Protocol;
  /** @param agent the name of the agent; undefined for the only one */
  mount: (agent: string | undefined, decorators: ClassDecorator[]) => DynamicModule;
}

/**
 * Loads the modules of other protocols. A service that names none has all, if their package is installed.
 *
 * @throws {ConfigurationError} `PROTOCOLS` names one, and the package is not installed
 */
export async function loadProtocols(environment: Environment): Promise<LoadedProtocol[]> {
  try {
    return await Promise.all(protocolsOf(environment).map(load));
  } catch (error) {
    if (environment.PROTOCOLS !== '' || !(error instanceof ConfigurationError)) throw error;
    new Logger('Protocols').debug(error.message);
    return [];
  }
}

async function load(protocol: Protocol): Promise<LoadedProtocol> {
  const [className, path] = MODULES[protocol];
  const entry = await loadPackage<ProtocolPackage>('PROTOCOLS', `nest-agent-query-protocols/${protocol}`);
  const mount: LoadedProtocol['mount'] = (name, decorators) =>
    entry[className]!.forRoot(
      name === undefined ? { path, decorators } : { name, path: `${name}/${path}`, decorators },
    );
  return { protocol, mount };
}
