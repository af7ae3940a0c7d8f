import { EXIT } from './exit-codes.js';

/** Why a command stops before its end: a signal, or stdout takes no more, because its reader has gone (`| head`) or its disk is full. */
export type Interruption = 'SIGINT' | 'SIGTERM' | 'EPIPE' | 'unwritable';

const EXIT_OF: Record<Interruption, number> = {
  SIGINT: EXIT.interrupted,
  SIGTERM: EXIT.terminated,
  EPIPE: EXIT.ok,
  unwritable: EXIT.failed,
};

/** A command was interrupted, and has said what there is to say. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;

  constructor(interruption: Interruption) {
    super(interruption);
    this.exitCode = EXIT_OF[interruption];
  }
}

/**
 * Begins some work, and waits for its end or for what interrupts it. The first interruption calls `stop`. A second signal ends
 * the process at once.
 *
 * @param begin begins the work: whoever sees that it has begun can interrupt it
 * @param stop ends the work in order
 * @returns what the work returns
 * @throws {Interrupted} the work was interrupted: what becomes of it no longer counts
 */
export async function interruptible<T>(
  begin: () => Promise<T>,
  stop: (interruption: Interruption, work: Promise<T>) => Promise<void>,
): Promise<T> {
  let interrupt!: (interruption: Interruption) => void;
  const interrupted = new Promise<Interruption>((resolve) => (interrupt = resolve));
  let isStopping = false;
  const onSignal = (signal: 'SIGINT' | 'SIGTERM') => {
    if (isStopping) process.exit(EXIT_OF[signal]);
    isStopping = true;
    interrupt(signal);
  };
  const onError = ({ code }: NodeJS.ErrnoException) => interrupt(code === 'EPIPE' ? 'EPIPE' : 'unwritable');
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  process.stdout.on('error', onError);
  try {
    const work = begin();
    const first = await Promise.race([
      work.then((result) => ({ result })),
      interrupted.then((interruption) => ({ interruption })),
    ]);
    if ('result' in first) return first.result;
    isStopping = true;
    await stop(first.interruption, work);
    throw new Interrupted(first.interruption);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    process.stdout.off('error', onError);
  }
}
