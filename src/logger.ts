import { ConsoleLogger } from '@nestjs/common';

/** The contexts in which Nest reports each module, route and step of its start. */
const NEST_START = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** The log of the standalone service: everything from the level `log` on, without Nest's reports of its own start. */
export class ServiceLogger extends ConsoleLogger {
  constructor() {
    super({ logLevels: ['log', 'warn', 'error', 'fatal'] });
  }

  override log(message: unknown, ...optional: unknown[]): void {
    if (!NEST_START.has(String(optional.at(-1)))) super.log(message, ...optional);
  }
}
