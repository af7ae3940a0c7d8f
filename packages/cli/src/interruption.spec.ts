import { Interrupted, interruptible } from './interruption.js';

describe('Work that is interrupted', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'by %s ends with its own exit code, although the work ends while it is stopped',
    async (signal, exitCode) => {
      let end!: () => void;
      const work = new Promise<void>((resolve) => (end = resolve));
      const waiting = interruptible(
        () => work,
        async () => {
          end();
          await work;
        },
      );
      process.emit(signal, signal);
      await expect(waiting).rejects.toThrow(Interrupted);
      await expect(waiting).rejects.toMatchObject({ exitCode });
    },
  );

  it('can be interrupted as soon as it has begun', async () => {
    let hasListener = false;
    const begin = () => {
      hasListener = process.listenerCount('SIGINT') > 0;
      return Promise.resolve();
    };
    await interruptible(begin, () => Promise.resolve());
    expect(hasListener).toBe(true);
  });

  it('hides what fails while it is stopped', async () => {
    const waiting = interruptible(
      () => new Promise<void>((_, reject) => process.once('SIGUSR2', () => reject(new Error('late')))),
      async () => void process.emit('SIGUSR2'),
    );
    process.emit('SIGINT', 'SIGINT');
    await expect(waiting).rejects.toThrow(Interrupted);
  });
});
