import { type INestApplication, Logger } from '@nestjs/common';
import type { Load } from '../query/index.js';

const logger = new Logger('Shutdown');

/** What the parts of a shutdown may take together besides the two times that an operator sets. */
const REST_MS = 10_000;

const EXIT_CODES = { SIGTERM: 143, SIGINT: 130 } as const;

/**
 * Stops the service on SIGTERM and SIGINT: in order, and then with the exit code 0. A second signal ends the process at once.
 * The whole shutdown has one time bound, whatever clients, handlers, files and databases do.
 *
 * @param load tells how many runs execute and wait
 * @param drainMs how long runs may continue
 * @param stopDeadlineMs how long their handlers may take to stop after that
 */
export function stopOnSignals(
  app: INestApplication,
  load: () => Pick<Load, 'running' | 'waiting'>,
  drainMs: number,
  stopDeadlineMs: number,
): void {
  let isStopping = false;
  const stop = (signal: keyof typeof EXIT_CODES) => {
    if (isStopping) {
      process.stderr.write(`nest-agent-query ends at once, because of a second signal (${signal}).\n`);
      process.exit(EXIT_CODES[signal]);
    }
    isStopping = true;
    const { running, waiting } = load();
    logger.log(
      `${signal}: the service stops. Runs: ${running} executing, ${waiting} waiting. They have ${drainMs} ms to end. ` +
        'Another signal (Ctrl-C) ends the process at once.',
    );
    const bound = drainMs + stopDeadlineMs + REST_MS;
    setTimeout(() => {
      process.stderr.write(`nest-agent-query has not stopped within ${bound} ms, and ends now.\n`);
      process.exit(1);
    }, bound).unref();
    app.close().then(
      () => process.exit(0),
      (error: Error) => {
        process.stderr.write(`nest-agent-query could not stop in order.\n${error.stack}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
