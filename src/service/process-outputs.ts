/** How much output may wait for a reader that does not read, in bytes. What is written beyond that is lost. */
const MAX_WAITING = 4 * 1024 * 1024;

type Written = (error?: NodeJS.ErrnoException | null) => void;

/**
 * Lets an output of this process wait in its memory if its reader does not read. Node would otherwise stop the whole process
 * until a pipe has room again.
 */
export function neverBlock(output: Pick<NodeJS.WriteStream, 'write'>): void {
  const { _handle: handle } = output as { _handle?: { setBlocking?(isBlocking: boolean): void } };
  handle?.setBlocking?.(false);
}

/** Entries in JSON may be written together, each on a line. */
function entriesIn(chunk: unknown): number {
  return typeof chunk === 'string' ? chunk.split('\n{').length : 1;
}

/**
 * Lets this process continue where its outputs cannot be written: the reader has gone (`| head`) or does not read, or the disk
 * is full. What is written then is lost.
 *
 * @param warn writes to one of the outputs how many entries are lost; called as soon as an output can be written again
 */
export function neverFail(
  warn: (sentence: string) => void,
  ...outputs: Pick<NodeJS.WriteStream, 'on' | 'write' | 'writableLength'>[]
): void {
  let lost = 0;
  let cause = '';
  /** How many lost entries the entry tells that is being written; 0 for all other entries. */
  let told = 0;
  const tell = () => {
    [told, lost] = [lost, 0];
    warn(`${told} entries of the log are lost: ${cause}.`);
    told = 0;
  };
  for (const output of outputs) {
    neverBlock(output);
    // One error may be about several entries. The callbacks of the entries count them.
    output.on('error', () => undefined);
    const write = output.write.bind(output) as (...given: unknown[]) => boolean;
    let isCut = false;
    output.write = (chunk: unknown, ...given: unknown[]) => {
      const written = typeof given.at(-1) === 'function' ? (given.pop() as Written) : undefined;
      const toldNow = told;
      const lose = (why: string) => ([lost, cause] = [lost + (toldNow || entriesIn(chunk)), why]);
      if (output.writableLength > MAX_WAITING) {
        lose('the reader of the output did not read');
        if (written) process.nextTick(written);
        return false;
      }
      // A disk may have taken the beginning of an entry: the next one begins a line.
      const whole = isCut && typeof chunk === 'string' ? `\n${chunk}` : chunk;
      isCut = false;
      return write(whole, ...given, (error?: NodeJS.ErrnoException | null) => {
        if (error) {
          isCut = true;
          lose(`the output could not be written (${error.code})`);
        } else if (lost > 0) tell();
        written?.(error);
      });
    };
  }
}
