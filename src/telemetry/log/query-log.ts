import { Injectable, Logger, Optional } from '@nestjs/common';
import {
  type InputResolved,
  type ObservedRun,
  type QueryRepeated,
  type RequestRefused,
  type RunAdmitted,
  type RunAsked,
  type RunEnded,
  type RunListener,
  Settings,
} from '../../query/index.js';
import { LogEntry, type LogFields } from './log-entry.js';

/**
 * Writes one entry for each query when its admission is answered, one when its run asks, one when a request of the run was
 * resolved, and one when its run ends. It is a listener, and writes with the logger of the host: with
 * `new ConsoleLogger({ json: true })` an object on one line, otherwise a line of text. An entry has no content of the query, of
 * the answer, of what is asked and of what people answer, and no credentials.
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
    this.#write('Query admitted:', this.#names('admitted', run), { waits, files, fileBytes });
  }

  repeated({ run }: QueryRepeated): void {
    this.#write('Query repeated:', this.#names('repeated', run));
  }

  refused({ isQuery, code, status, owner, sessionId }: RequestRefused): void {
    const module = this.#module;
    if (isQuery)
      this.#write('Query refused:', { event: 'refused', module, session: sessionId, owner, code, status });
  }

  asked({ run, kinds }: RunAsked): void {
    this.#write('Run asks:', this.#names('asked', run), { requests: kinds.length, kinds: kinds.join(',') });
  }

  resolved({ run, id, kind, outcome, by, waitedMs }: InputResolved): void {
    const request = { request: id, kind, outcome, by: by ?? undefined, waitedMs: rounded(waitedMs) };
    this.#write('Request resolved:', this.#names('resolved', run), request);
  }

  ended(event: RunEnded): void {
    this.#write('Run ended:', this.#names('ended', event.run), {
      status: event.status,
      code: event.errorCode,
      waitedMs: rounded(event.waitedMs),
      executedMs: rounded(event.executedMs),
      firstEventMs: rounded(event.firstEnvelopeMs),
      envelopes: event.envelopes,
      characters: event.length,
    });
  }

  /** What names a run in every entry about it. */
  #names(event: string, { id, sessionId, owner, attempt, traceId }: ObservedRun): LogFields {
    return { event, module: this.#module, run: id, session: sessionId, owner, attempt, traceId };
  }

  #write(title: string, fields: LogFields, more?: LogFields): void {
    this.#logger.log(new LogEntry(title, fields, more));
  }
}

/** Tenths of a millisecond. */
function rounded(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.round(milliseconds * 10) / 10;
}
