import { type Envelope, type QueryContext, settlesWithin } from '../../query/index.js';
import type { CommandSettings } from './command-options.js';
import { ask, type Pause, questionsOf } from './pause.js';
import type { Program } from './program.js';
import { failureOfProgram } from './program-failure.js';
import { answersLine } from './query-line.js';

/** The exit code of a program that is to be started again with the answers: EX_TEMPFAIL of sysexits.h. */
const ASKS = 75;

/** Milliseconds that a program has at least to end when it has asked, and cannot read the answer. */
const END_MS = 1_000;

/** What one start of a program says to the service itself: its checkpoints, its questions, and how it ends. */
export class Conversation {
  #state: unknown;
  #pause: Pause | undefined;
  #isAsking = false;

  /** @param before what an earlier start has asked */
  constructor(
    private readonly program: Program,
    private readonly context: QueryContext,
    private readonly settings: Pick<CommandSettings, 'keepInput' | 'stopDeadlineMs'>,
    private readonly before: Pause | undefined,
  ) {
    this.#state = before?.state;
  }

  /** Whether an envelope is for the service: `take` it. */
  isFor({ type }: Envelope): boolean {
    return type === 'checkpoint' || type === 'input_required';
  }

  /**
   * Keeps a checkpoint. Or asks, and gives the answers to the program.
   *
   * @returns whether the program goes on. If not, nothing that it writes counts any more
   * @throws {QueryError} `invalid_envelope` · what `context.ask` throws
   */
  async take({ type, data }: Envelope): Promise<boolean> {
    if (type === 'checkpoint') {
      this.#state = data ?? null;
      return true;
    }
    const pause = this.#pauseFor(data);
    this.#pause = pause;
    this.#isAsking = true;
    if (!this.settings.keepInput) return false;
    const asking = ask(this.context, pause, this.#state !== undefined);
    // If the program ends before, nobody waits for it.
    asking.catch(() => undefined);
    const answers = await Promise.race([asking, this.program.exited]);
    if (!answers) return false;
    this.#isAsking = false;
    this.program.write(answersLine(answers));
    return true;
  }

  /**
   * Waits for the end of the program.
   *
   * @returns what it has asked, if it is to be started again with the answers
   * @throws {Error} it has not ended as it should
   */
  async end(): Promise<Pause | undefined> {
    const { program } = this;
    const { signal } = this.context;
    if (signal.aborted) return undefined;
    const endMs = Math.max(END_MS, this.settings.stopDeadlineMs);
    if (this.#isAsking && !(await settlesWithin(endMs, program.exited)))
      throw new Error(
        `The program has asked, and still executes ${endMs} ms later. It must end with the exit code ${ASKS}, or the option ` +
          'keepInput (COMMAND_KEEP_INPUT) must let it read the answer.',
      );
    const end = await program.ended();
    if (signal.aborted) return undefined;
    if (end.code === ASKS && this.#pause) {
      refuseRepeated(this.#pause);
      return this.#pause;
    }
    const failure = failureOfProgram(end);
    if (failure) throw failure;
    if (this.#isAsking)
      throw new Error(`The program has asked, and has ended with the exit code 0 in place of ${ASKS}.`);
    return undefined;
  }

  #pauseFor(data: unknown): Pause {
    const { starts = 0, questions = [], earlier = [] } = this.before ?? {};
    return {
      starts: starts + 1,
      state: this.#state ?? null,
      questions: questionsOf(data),
      earlier: [...new Set([...earlier, ...questions.map(({ key }) => key)])],
    };
  }
}

/** A program that always asks the same would be started without an end. */
function refuseRepeated({ questions, earlier }: Pause): void {
  if (questions.every(({ key }) => earlier.includes(key)))
    throw new Error(
      'The program has asked again what was answered before. The answers are the second line of its input.',
    );
}
