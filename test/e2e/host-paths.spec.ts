import {
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  Injectable,
  Module,
  SetMetadata,
  UnauthorizedException,
  UseGuards,
  VERSION_NEUTRAL,
  VersioningType,
} from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { of } from 'rxjs';
import { message, QueryModule } from '../../src/index.js';
import { PlaygroundModule } from '../../src/playground/index.js';
import { HealthController, MetricsModule, VersionController } from '../../src/telemetry/index.js';
import { promise } from '../promises.js';
import { ask, get } from '../support/client.js';
import { tableRows } from '../support/documents.js';
import { type AdapterName, describeOnBothAdapters, type Host, startHost } from '../support/host.js';

const Public = () => SetMetadata('isPublic', true);
const TOKEN = { authorization: 'Bearer of-ann' };

/** What tutorials of Nest make of a guard for tokens. */
@Injectable()
class TokenGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean>('isPublic', targets)) return true;
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (request.headers['authorization'] !== TOKEN.authorization) throw new UnauthorizedException();
    return true;
  }
}

@Public()
class PublicHealthController extends HealthController {}

@Public()
class PublicVersionController extends VersionController {}

@Injectable()
class Operators {
  has(request: { headers: Record<string, string> }): boolean {
    return request.headers['x-operator'] === 'yes';
  }
}

@Module({ providers: [Operators], exports: [Operators] })
class OperatorsModule {}

@Injectable()
class OperatorGuard implements CanActivate {
  constructor(private readonly operators: Operators) {}

  canActivate(context: ExecutionContext): boolean {
    return this.operators.has(context.switchToHttp().getRequest());
  }
}

const handler = () => of(message('Hi'));

type Version = string | typeof VERSION_NEUTRAL;

function start(
  adapter: AdapterName,
  configure: (app: INestApplication) => unknown = () => undefined,
  version?: Version,
): Promise<Host> {
  @Module({
    imports: [
      QueryModule.forRoot({ handler, isGlobal: true, ...(version && { version }) }),
      QueryModule.forRoot({ handler, name: 'second', path: 'second', version: version ?? '2' }),
      PlaygroundModule.forRoot({ endpoint: ['query', 'second'], decorators: [Public()] }),
      MetricsModule.forRoot({ decorators: [Public()] }),
    ],
    controllers: [PublicHealthController, PublicVersionController],
    providers: [{ provide: APP_GUARD, useClass: TokenGuard }],
  })
  class GrownModule {}
  return startHost(adapter, GrownModule, configure);
}

/** The addresses of the endpoints in a page, resolved against its own. */
function endpointsIn(page: string, path: string): string[] {
  const [, endpoints] = /<meta name="endpoints" content="([^"]+)"/.exec(page)!;
  return endpoints!.split(' ').map((each) => new URL(each, `http://localhost${path}`).pathname);
}

const bare = (cell: string) => cell.replaceAll('`', '');
const ROWS = tableRows('docs/hosts.md')
  .filter(({ heading }) => heading[0] === '`setGlobalPrefix`')
  .map(({ cells }) => cells.map(bare) as [string, string, string, string, string]);

describeOnBothAdapters('The paths of a grown host on %s', (adapter) => {
  it(promise('module.paths', 'there are such rows'), () => expect(ROWS).toHaveLength(7));

  it.each(ROWS)(
    promise('module.paths', 'prefix %j, versions %j'),
    async (prefixed, versions, query, second, page) => {
      const [prefix, exclude] = prefixed.split(', without ');
      const defaultVersion = versions.includes('default') ? '1' : undefined;
      const isInHeader = versions === 'header';
      const host = await start(
        adapter,
        (app) => {
          if (prefix) app.setGlobalPrefix(prefix, { exclude: exclude ? [exclude, `${exclude}/*path`] : [] });
          if (isInHeader) app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' });
          else if (versions)
            app.enableVersioning({ type: VersioningType.URI, ...(defaultVersion && { defaultVersion }) });
        },
        isInHeader ? VERSION_NEUTRAL : undefined,
      );
      const shown = await get(host.url, page);
      expect(shown.status).toBe(200);
      expect(endpointsIn(await shown.whole(), page)).toEqual([query, second]);
      const beside = prefix ? `/${prefix}` : '';
      for (const path of ['/metrics', '/health/live', '/health/ready', '/version'])
        expect([path, (await get(host.url, beside + path)).status]).toEqual([path, 200]);
      for (const path of [query, second]) {
        expect((await ask(host.url, 'Hello', { path })).status).toBe(401);
        const answered = await ask(host.url, 'Hello', { path, headers: TOKEN });
        expect([path, answered.status]).toEqual([path, 200]);
        await answered.whole();
      }
      await host.close();
    },
  );

  it(promise('module.paths', 'also behind a proxy that has another prefix'), async () => {
    const host = await start(adapter, (app) => {
      app.setGlobalPrefix('api');
      app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
    });
    const page = await (await get(host.url, '/api/playground')).whole();
    expect(endpointsIn(page, '/agents/playground')).toEqual(['/agents/v1/query', '/agents/v2/second']);
    await host.close();
  });

  it(promise('module.paths', 'a prefix of the version that is not v'), async () => {
    const versioning = { type: VersioningType.URI as const, prefix: 'version-', defaultVersion: ['7', '8'] };
    const host = await start(adapter, (app) => app.enableVersioning(versioning));
    const page = await (await get(host.url, '/playground')).whole();
    expect(endpointsIn(page, '/playground')).toEqual(['/version-7/query', '/version-2/second']);
    await host.close();
  });

  it(promise('module.public', 'and what is not decorated does not pass'), async () => {
    const imports = [
      QueryModule.forRoot({ handler }),
      PlaygroundModule.forRoot(),
      MetricsModule.forRoot({ path: 'numbers' }),
    ];
    const controllers = [HealthController, VersionController];
    @Module({ imports, controllers, providers: [{ provide: APP_GUARD, useClass: TokenGuard }] })
    class ClosedModule {}
    const host = await startHost(adapter, ClosedModule);
    for (const path of ['/playground', '/numbers', '/health/live', '/version'])
      expect([path, (await get(host.url, path)).status]).toEqual([path, 401]);
    await host.close();
  });

  it(promise('module.public', 'a guard of the page that injects'), async () => {
    const page = PlaygroundModule.forRoot({
      decorators: [UseGuards(OperatorGuard)],
      imports: [OperatorsModule],
    });
    @Module({ imports: [QueryModule.forRoot({ handler }), page] })
    class GuardedModule {}
    const host = await startHost(adapter, GuardedModule);
    expect((await get(host.url, '/playground')).status).toBe(403);
    expect((await get(host.url, '/playground', { 'x-operator': 'yes' })).status).toBe(200);
    await host.close();
    const invalid = () => PlaygroundModule.forRoot({ decorators: Public() as never });
    expect(invalid).toThrow('PlaygroundModule: the option "decorators" must be an array of class decorators');
  });
});
