import { channel } from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import type { RunListener } from '../ports/run-listener.js';

/** The message of each event. */
type Messages = { [K in keyof Required<RunListener>]: Parameters<NonNullable<RunListener[K]>>[0] };

const NAMES = ['admitted', 'started', 'ended', 'followed', 'unfollowed'] as const;

const CHANNELS = Object.fromEntries(
  NAMES.map((name) => [name, channel(`nest-agent-query:${name}`)]),
) as Record<(typeof NAMES)[number], ReturnType<typeof channel>>;

/** Tells the listeners of the module, and the subscribers of the channels, what happens to runs. */
export class Observers {
  static readonly #logger = new Logger('RunListener');

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
        if (told instanceof Promise) told.catch((error: unknown) => this.#report(name, error));
      } catch (error) {
        this.#report(name, error);
      }
    }
  }

  #report(name: string, error: unknown): void {
    Observers.#logger.error(
      `A listener failed at the event "${name}".`,
      error instanceof Error ? error.stack : String(error),
    );
  }
}
