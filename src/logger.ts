import { ConsoleLogger, type LogLevel } from '@nestjs/common';

/** How much output may wait for a reader that does not read, in bytes. What is logged beyond that is lost. */
const MAX_WAITING = 4 * 1024 * 1024;

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

/**
 * The log of the standalone service, without Nest's reports of its own start. A reader of the output that does not read must not
 * stop the service: see `neverBlock`.
 */
export class ServiceLogger extends ConsoleLogger {
  #lost = 0;

  /**
   * @param format `json` writes one object per line
   * @param least the least important level that is written
   * @param waiting returns how many bytes of the output wait for its reader
   */
  constructor(
    format: 'json' | 'text' = 'text',
    least: LogLevelName = 'info',
    private readonly waiting = () => process.stdout.writableLength + process.stderr.writableLength,
  ) {
    super({ json: format === 'json', logLevels: levelsTo(least) });
  }

  override log(message: unknown, ...optional: unknown[]): void {
    if (!NEST_START.has(String(optional.at(-1)))) super.log(message, ...optional);
  }

  override isLevelEnabled(level: LogLevel): boolean {
    return super.isLevelEnabled(level) && this.#hasRoom();
  }

  #hasRoom(): boolean {
    if (this.waiting() > MAX_WAITING) {
      this.#lost++;
      return false;
    }
    if (this.#lost > 0) {
      const lost = this.#lost;
      this.#lost = 0;
      this.warn(`${lost} entries of the log are lost: the reader of the output did not read.`, 'Log');
    }
    return true;
  }
}

/**
 * Lets the output of this process wait in its memory if its reader does not read. Node would otherwise stop the whole process
 * until a pipe has room again.
 */
export function neverBlock(...outputs: NodeJS.WriteStream[]): void {
  for (const output of outputs) {
    const { _handle: handle } = output as { _handle?: { setBlocking?(isBlocking: boolean): void } };
    handle?.setBlocking?.(false);
  }
}

function levelsTo(least: LogLevelName): LogLevel[] {
  const names = LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(least) + 1);
  return [...new Set(names.map((name) => (name === 'info' ? 'log' : name)))];
}
