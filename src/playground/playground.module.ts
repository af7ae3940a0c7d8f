import { type DynamicModule, Module, type ModuleMetadata } from '@nestjs/common';
import { trimmedPath } from './addresses.js';
import { BUILT_PAGE } from './built-page.js';
import { PageFiles } from './page-files.js';
import { controllerAt } from './playground.controller.js';
import { refuseUnknown } from '../query/index.js';

/** The options of `PlaygroundModule`. Paths are those under the global prefix of the host. */
export interface PlaygroundOptions {
  /** Where the page is; empty for the root. Default `playground`. */
  path?: string | undefined;
  /**
   * Where the endpoint is: the `path` of the `QueryModule`, whose version is found. The user chooses where there are several. Default
   * `query`.
   */
  endpoint?: string | readonly string[] | undefined;
  /**
   * The name of the agent, which the page has in its header, where there is one endpoint. Several have the names of their paths.
   * Default: the path of the endpoint.
   */
  name?: string | undefined;
  /**
   * The protocols of `nest-agent-query-protocols` that are beside each endpoint, at their default paths: `ai-sdk`, `ag-ui`,
   * `openai`, `a2a`. The page can show runs in them. Default: none.
   */
  protocols?: readonly string[] | undefined;
  /** Decorators of the page, such as those that let it pass a guard of the host. Default: none. */
  decorators?: readonly ClassDecorator[];
  /** Modules that export what the decorators name. Default: none. */
  imports?: NonNullable<ModuleMetadata['imports']>;
}

const MEMBERS: Record<keyof PlaygroundOptions, true> = {
  path: true,
  endpoint: true,
  name: true,
  protocols: true,
  decorators: true,
  imports: true,
};

/**
 * A page to try the agents of an application in a browser. It has no data, and needs no credential: it asks for an API key where
 * the endpoint does.
 *
 * @example
 * @Module({ imports: [QueryModule.forRoot({ handler: MyHandler }), PlaygroundModule.forRoot()] })
 * export class AppModule {}
 *
 * @example
 * PlaygroundModule.forRoot({ path: 'try', endpoint: ['research/query', 'files/query'], decorators: [Public()] })
 */
@Module({ providers: [{ provide: PageFiles, useFactory: () => PageFiles.read(BUILT_PAGE) }] })
export class PlaygroundModule {
  /**
   * Mounts the page.
   *
   * @throws {TypeError} an option is unknown, or is no path. The application does not start (`Error`) if the page is missing
   */
  static forRoot(options: PlaygroundOptions = {}): DynamicModule {
    refuseUnknown('PlaygroundModule', options, MEMBERS);
    const {
      path = 'playground',
      endpoint = 'query',
      name,
      protocols = [],
      decorators,
      imports = [],
    } = options;
    if (typeof path !== 'string') throw new TypeError('PlaygroundModule: the option "path" must be a path.');
    const endpoints = (typeof endpoint === 'string' ? [endpoint] : endpoint).map(trimmedPath);
    if (endpoints.length === 0 || endpoints.includes(''))
      throw new TypeError('PlaygroundModule: the option "endpoint" must have a path that is not empty.');
    checkName(name, endpoints.length);
    if (!Array.isArray(protocols) || protocols.some((each) => !/^[\w-]+$/.test(String(each))))
      throw new TypeError(
        'PlaygroundModule: the option "protocols" must be a list of names such as "ai-sdk".',
      );
    const addresses = { path: trimmedPath(path), endpoints, name: name?.trim(), protocols };
    return { module: PlaygroundModule, imports, controllers: [controllerAt(addresses, decorators)] };
  }
}

function checkName(name: string | undefined, endpoints: number): void {
  if (name === undefined) return;
  if (typeof name !== 'string' || name.trim() === '')
    throw new TypeError('PlaygroundModule: the option "name" must be a text that is not empty.');
  if (endpoints > 1)
    throw new TypeError(
      'PlaygroundModule: the option "name" is for one endpoint. Several have the names of their paths: leave it out.',
    );
}
