import { EXIT } from './exit-codes.js';

/** Why a command stops before its end: a signal, or the reader of stdout has gone (`| head`). */
export type Interruption = 'SIGINT' | 'SIGTERM' | 'EPIPE';

const EXIT_OF: Record<Interruption, number> = {
  SIGINT: EXIT.interrupted,
  SIGTERM: EXIT.terminated,
  EPIPE: EXIT.ok,
};

/**
 * Waits for the end of some work, and for what interrupts it. The first interruption calls `stop` and sets the exit code of the
 * process. A second signal ends the process at once.
 *
 * @param stop ends the work in order
 * @returns whether the work was interrupted
 * @throws what the work throws, unless it was interrupted
 */
export async function interruptible(
  work: Promise<unknown>,
  stop: (interruption: Interruption) => Promise<void>,
): Promise<boolean> {
  let interrupt!: (interruption: Interruption) => void;
  const interrupted = new Promise<Interruption>((resolve) => (interrupt = resolve));
  let isStopping = false;
  const onSignal = (signal: 'SIGINT' | 'SIGTERM') => {
    if (isStopping) process.exit(EXIT_OF[signal]);
    isStopping = true;
    interrupt(signal);
  };
  const onError = () => interrupt('EPIPE');
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  process.stdout.on('error', onError);
  try {
    const interruption = await Promise.race([work.then(() => undefined), interrupted]);
    if (interruption === undefined) return false;
    isStopping = true;
    process.exitCode = EXIT_OF[interruption];
    work.catch(() => undefined);
    await stop(interruption);
    return true;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    process.stdout.off('error', onError);
  }
}
