import { type DynamicModule, Module, type ModuleMetadata, type Provider } from '@nestjs/common';
import { MetricsServer } from './metrics-server.js';
import { metricsControllerAt } from './metrics.controller.js';
import { Metrics } from './metrics.js';
import { refuseUnknown } from '../../query/index.js';

/** The options of `MetricsModule`. */
export interface MetricsOptions {
  /** Where the metrics are shown; under the global prefix of the host unless they have a port of their own. Default `metrics`. */
  path?: string;
  /** A port that shows the metrics and nothing else; 0 takes a free one. Default: the port of the application. */
  port?: number;
  /** The address to listen on with `port`. Default `127.0.0.1`. */
  host?: string;
  /** Decorators of the controller, such as guards. Not with `port`. Default: none. */
  decorators?: readonly ClassDecorator[];
  /** Modules that export what the decorators name. Default: none. */
  imports?: NonNullable<ModuleMetadata['imports']>;
}

const MEMBERS: Record<keyof MetricsOptions, true> = {
  path: true,
  port: true,
  host: true,
  decorators: true,
  imports: true,
};

/**
 * Shows the metrics of the query modules that have the listener `QueryMetrics`, and of the process, for Prometheus. It needs
 * the package `prom-client`.
 *
 * @example
 * @Module({ imports: [MetricsModule.forRoot(), QueryModule.forRoot({ handler: MyHandler, listeners: [QueryMetrics] })] })
 * class AppModule {}
 *
 * @example
 * MetricsModule.forRoot({ decorators: [UseGuards(OperatorGuard)], imports: [OperatorsModule] })
 */
@Module({})
export class MetricsModule {
  /** Whether `prom-client` is installed. */
  static async isAvailable(): Promise<boolean> {
    return Metrics.load().then(
      () => true,
      () => false,
    );
  }

  /** @throws {TypeError} an option is unknown, or has no effect */
  static forRoot(options: MetricsOptions = {}): DynamicModule {
    refuseUnknown('MetricsModule', options, MEMBERS);
    const { path = 'metrics', port, host, decorators, imports = [] } = options;
    if (port === undefined && host !== undefined) {
      throw new TypeError('MetricsModule: the option "host" has no effect without "port".');
    }
    if (port !== undefined && decorators !== undefined) {
      throw new TypeError(
        'MetricsModule: the option "decorators" has no effect with "port", which has no guards. Let only ' +
          'operators reach that port.',
      );
    }
    return {
      module: MetricsModule,
      global: true,
      imports,
      controllers: port === undefined ? [metricsControllerAt(path, decorators)] : [],
      providers: [
        { provide: Metrics, useFactory: () => Metrics.load() },
        ...(port === undefined ? [] : [serverAt(path, port, host)]),
      ],
      exports: [Metrics],
    };
  }
}

function serverAt(path: string, port: number, host = '127.0.0.1'): Provider {
  const own = `/${path.replace(/^\/+|\/+$/g, '')}`;
  return {
    provide: MetricsServer,
    inject: [Metrics],
    useFactory: (metrics: Metrics) => new MetricsServer(metrics, own, port, host),
  };
}
