import { Injectable, Logger, Optional } from '@nestjs/common';
import {
  type ObservedRun,
  type QueryRepeated,
  type RequestRefused,
  type RunAdmitted,
  type RunEnded,
  type RunListener,
  Settings,
} from '../../query/index.js';
import { LogEntry, type LogFields } from './log-entry.js';

/**
 * Writes one entry for each query when its admission is answered, and one when its run ends. It is a listener, and writes with
 * the logger of the host: with `new ConsoleLogger({ json: true })` an object on one line, otherwise a line of text. An entry
 * has no content of the query or of the answer, and no credentials.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, listeners: [QueryLog] })
 */
@Injectable()
export class QueryLog implements RunListener {
  readonly #logger = new Logger('Query');
  readonly #module: string | undefined;

  constructor(@Optional() settings?: Settings) {
    this.#module = settings?.name;
  }

  admitted({ run, waits, files, fileBytes }: RunAdmitted): void {
    this.#write('admitted', { ...namesOf(run), waits, files, fileBytes });
  }

  repeated({ run }: QueryRepeated): void {
    this.#write('repeated', namesOf(run));
  }

  refused({ isQuery, code, status, owner, sessionId }: RequestRefused): void {
    if (isQuery) this.#write('refused', { session: sessionId, owner, code, status });
  }

  ended(event: RunEnded): void {
    const { run, status, errorCode, envelopes, length } = event;
    this.#write('ended', {
      ...namesOf(run),
      status,
      code: errorCode,
      waitedMs: rounded(event.waitedMs),
      executedMs: rounded(event.executedMs),
      firstEventMs: rounded(event.firstEnvelopeMs),
      envelopes,
      characters: length,
    });
  }

  #write(event: 'admitted' | 'repeated' | 'refused' | 'ended', fields: LogFields): void {
    this.#logger.log(new LogEntry(TITLES[event], { event, module: this.#module, ...fields }));
  }
}

const TITLES = {
  admitted: 'Query admitted:',
  repeated: 'Query repeated:',
  refused: 'Query refused:',
  ended: 'Run ended:',
};

/** What names a run in every entry about it. */
function namesOf({ id, sessionId, owner, attempt, traceId }: ObservedRun): LogFields {
  return { run: id, session: sessionId, owner, attempt, traceId };
}

/** Tenths of a millisecond. */
function rounded(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.round(milliseconds * 10) / 10;
}
