import { inspect } from 'node:util';
import type { INestApplication, LoggerService } from '@nestjs/common';

/** The log of a host, as its operator reads it. */
export class OperatorLog implements LoggerService {
  /** One line per entry: its level, its message, and its other arguments. */
  readonly lines: string[] = [];

  static of(app: INestApplication): OperatorLog {
    const log = new OperatorLog();
    app.useLogger(log);
    return log;
  }

  /** The warnings and errors. */
  get troubles(): string[] {
    return this.lines.filter((line) => /^(warn|error|fatal) /.test(line));
  }

  log(...entry: unknown[]): void {
    this.#note('log', entry);
  }

  warn(...entry: unknown[]): void {
    this.#note('warn', entry);
  }

  error(...entry: unknown[]): void {
    this.#note('error', entry);
  }

  fatal(...entry: unknown[]): void {
    this.#note('fatal', entry);
  }

  #note(level: string, entry: unknown[]): void {
    this.lines.push(
      [level, ...entry.map((item) => (typeof item === 'string' ? item : inspect(item)))].join(' '),
    );
  }
}
