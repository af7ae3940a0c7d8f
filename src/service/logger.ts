import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { type Environment, LOG_LEVELS } from '../config/variables.js';
import { LogEntry } from '../telemetry/log/log-entry.js';

/** How long entries wait to be written together. */
const HOLD_MS = 10;

/** Node asks the system for it each time. */
const PID = process.pid;

/** The levels of which entries may wait. A warning or an error is written at once. */
const PATIENT = new Set<LogLevel>(['log', 'debug', 'verbose']);

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
   * @param outputs where the entries are written
   */
  constructor(
    format: 'json' | 'text' = 'text',
    least: Environment['LOG_LEVEL'] = 'info',
    private readonly outputs = new Outputs(process.stdout, process.stderr),
  ) {
    super({ json: format === 'json', logLevels: levelsTo(least) });
  }

  override log(message: unknown, ...optional: unknown[]): void {
    if (message instanceof LogEntry && this.options.json) this.#writeEntry(message, optional[0]);
    else if (!NEST_START.has(String(optional.at(-1)))) super.log(message, ...optional);
  }

  override isLevelEnabled(level: LogLevel): boolean {
    if (!super.isLevelEnabled(level)) return false;
    if (PATIENT.has(level)) this.outputs.hold();
    else this.outputs.write();
    return true;
  }

  /** Writes what Nest's logger would write, in a fraction of the time. There are two entries a query. */
  #writeEntry(message: LogEntry, context: unknown): void {
    if (!super.isLevelEnabled('log')) return;
    const line = JSON.stringify({ level: 'log', pid: PID, timestamp: Date.now(), message, context });
    this.outputs.add(`${line}\n`);
  }
}

/** The outputs of this process. What is written within 10 ms can be written together: each write is a system call. */
export class Outputs {
  readonly #outputs: readonly Output[];
  #holds = false;
  /** Entries that are not given to the standard output yet: it makes a system call for each text, also of several, in a file. */
  #entries = '';

  /** @param output the standard output */
  constructor(
    private readonly output: Output,
    ...others: readonly Output[]
  ) {
    this.#outputs = [output, ...others];
    process.once('exit', () => this.write());
  }

  /** Writes an entry to the standard output, together with what comes within 10 ms. */
  add(line: string): void {
    this.#hold();
    this.#entries += line;
  }

  /** Holds back what comes, for at most 10 ms. The end of the process writes it. */
  hold(): void {
    this.#pass();
    this.#hold();
  }

  /** Writes what was held back. */
  write(): void {
    this.#pass();
    if (!this.#holds) return;
    this.#holds = false;
    for (const output of this.#outputs) output.uncork();
  }

  #hold(): void {
    if (this.#holds) return;
    this.#holds = true;
    for (const output of this.#outputs) output.cork();
    setTimeout(() => this.write(), HOLD_MS).unref();
  }

  /** What is written after the entries comes behind them. */
  #pass(): void {
    if (this.#entries === '') return;
    this.output.write(this.#entries);
    this.#entries = '';
  }
}

type Output = Pick<NodeJS.WriteStream, 'cork' | 'uncork' | 'write'>;

function levelsTo(least: Environment['LOG_LEVEL']): LogLevel[] {
  const names = LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(least) + 1);
  return [...new Set(names.map((name) => (name === 'info' ? 'log' : name)))];
}
