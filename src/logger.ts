import { ConsoleLogger, type LogLevel } from '@nestjs/common';

/** The levels, from the most important on. `info` is what Nest calls `log`. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'log', 'debug', 'verbose'] as const;
export type LogLevelName = (typeof LOG_LEVELS)[number];

/** The contexts in which Nest reports each module, route and step of its start. */
const NEST_START = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** The log of the standalone service, without Nest's reports of its own start. */
export class ServiceLogger extends ConsoleLogger {
  /**
   * @param format `json` writes one object per line
   * @param least the least important level that is written
   */
  constructor(format: 'json' | 'text' = 'text', least: LogLevelName = 'info') {
    super({ json: format === 'json', logLevels: levelsTo(least) });
  }

  override log(message: unknown, ...optional: unknown[]): void {
    if (!NEST_START.has(String(optional.at(-1)))) super.log(message, ...optional);
  }
}

function levelsTo(least: LogLevelName): LogLevel[] {
  const names = LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(least) + 1);
  return [...new Set(names.map((name) => (name === 'info' ? 'log' : name)))];
}
