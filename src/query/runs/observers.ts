import { channel } from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import type { Refusal } from '../contract/errors.js';
import type { RunListener } from '../ports/run-listener.js';
import { isThenable } from '../ports/file-store.js';

/** The message of each event. */
type Messages = { [K in keyof Required<RunListener>]: Parameters<NonNullable<RunListener[K]>>[0] };

const NAMES = [
  'admitted',
  'repeated',
  'refused',
  'started',
  'ended',
  'followed',
  'unfollowed',
  'storeAnswered',
] as const;

const CHANNELS = Object.fromEntries(
  NAMES.map((name) => [name, channel(`nest-agent-query:${name}`)]),
) as Record<(typeof NAMES)[number], ReturnType<typeof channel>>;

interface RefusedQuery {
  owner: string;
  sessionId: string | undefined;
  /** Undefined for a query that the host itself submits. */
  request: object | undefined;
}

/** Tells the listeners of the module, and the subscribers of the channels, what happens to runs. */
export class Observers {
  static readonly #logger = new Logger('RunListener');
  /** What the handlers of this process have emitted since its start: envelopes, and their characters of JSON. */
  readonly emitted = { envelopes: 0, length: 0 };
  readonly #owners = new WeakMap<object, string>();
  /** Requests whose refusal was told with the query that they have submitted. */
  readonly #refused = new WeakSet<object>();

  constructor(private readonly listeners: readonly RunListener[]) {}

  /** Whether anybody wants to know of an event: if not, its message need not be made. */
  want(name: keyof Messages): boolean {
    return CHANNELS[name].hasSubscribers || this.listeners.some((listener) => listener[name] !== undefined);
  }

  /** Tells everybody. Never throws. */
  tell<K extends keyof Messages>(name: K, message: Messages[K]): void {
    CHANNELS[name].publish(message);
    for (const listener of this.listeners) {
      try {
        const told = (listener[name] as ((message: Messages[K]) => unknown) | undefined)?.call(
          listener,
          message,
        );
        if (isThenable(told)) Promise.resolve(told).catch((error: unknown) => this.#report(name, error));
      } catch (error) {
        this.#report(name, error);
      }
    }
  }

  /** Keeps the owner of a request, for the case that it is refused. */
  ownerIs(request: object, owner: string): void {
    if (this.want('refused')) this.#owners.set(request, owner);
  }

  tellRefusedQuery({ request, owner, sessionId }: RefusedQuery, refusal: Refusal): void {
    if (!this.want('refused')) return;
    if (request) this.#refused.add(request);
    this.tell('refused', { ...refusal, isQuery: true, owner, sessionId });
  }

  /** Tells that a request was answered with a problem, unless that was told with its query. */
  tellRefusedRequest(request: object, refusal: Refusal, isQuery: boolean): void {
    if (!this.want('refused') || this.#refused.has(request)) return;
    this.tell('refused', { ...refusal, isQuery, owner: this.#owners.get(request), sessionId: undefined });
  }

  #report(name: string, error: unknown): void {
    Observers.#logger.error(
      `A listener failed at the event "${name}".`,
      error instanceof Error ? error.stack : String(error),
    );
  }
}
