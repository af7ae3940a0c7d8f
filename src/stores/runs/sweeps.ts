import { Logger } from '@nestjs/common';
import { QueryError } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { FileSweeper } from '../files/file-sweeper.js';
import type { Lease } from './lease.js';
import type { Sweeper } from './sweeper.js';

const SWEEP_MS = 60_000;

/** Applies the retention once a minute, unless another process does that at the time. */
export class Sweeps {
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    private readonly lease: Lease,
    private readonly sweeper: Sweeper,
    private readonly fileSweeper: FileSweeper,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.sweep().catch(reportSweep), SWEEP_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined));
    return this.#sweeping;
  }

  /** Trims the log of a run of this process that has become too long. */
  trim(runId: string): void {
    this.sweeper.trim(runId).catch(reportSweep);
  }

  async #sweep(): Promise<void> {
    // What is old is decided by the present time of the database.
    await this.database.synchronize();
    // Two sweeps at the same time would both drop what exceeds a limit, and so twice as much.
    if (await this.lease.beginSweep()) {
      try {
        await this.sweeper.sweep();
        await this.fileSweeper.sweep();
      } finally {
        await this.lease.endSweep();
      }
    }
    await this.sweeper.trimLocal();
  }
}

function reportSweep(error: unknown): void {
  // An outage was logged already.
  if (error instanceof QueryError && error.code === 'unavailable') return;
  const message = 'Runs, sessions or files that exceed the retention could not be dropped';
  new Logger('SqlRunStore').error(message, (error as Error).stack);
}
