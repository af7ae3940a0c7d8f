import type { AgentQueryClient, Answer, FileInput, Suggestion } from 'nest-agent-query-client';
import { send, showToTheEnd } from '../answering.js';
import { Outputs } from '../outputs.js';
import { AnswerView } from '../show-answer.js';
import { suggestionsOf } from '../suggestions.js';
import { answerOf, headOf, readTurns } from '../turns.js';
import { lookOf } from './markdown/inline.js';
import { MarkdownText } from './markdown/markdown-text.js';

/** A conversation with a service: what is sent and shown, however the texts come. */
export class Conversation {
  /** Files that are sent with the next text. They stay until a query with them was admitted. */
  files: FileInput[] = [];
  /** What the agent has suggested at last. */
  suggestions: Suggestion[] = [];
  /** Whether the service has something of this session. */
  isBegun = false;

  /** @param directory where the files of answers are saved; undefined: they are not */
  constructor(
    private readonly client: AgentQueryClient,
    readonly sessionId: string,
    private readonly kwargs: Record<string, unknown>,
    private readonly directory: string | undefined,
  ) {}

  /** Sends these files with the next text, besides those that are attached. */
  attach(files: FileInput[]): void {
    this.files = [...this.files, ...files];
  }

  /**
   * Shows the turns that the session has.
   *
   * @param take is told the texts of each question
   * @returns the run that executes or asks, or null
   */
  async showTurns(take: (texts: string[]) => void): Promise<string | null> {
    const active = await readTurns(this.client, this.sessionId, async (turn) => {
      const outputs = newOutputs();
      outputs.note(headOf(turn));
      await outputs.text(`${answerOf(turn)}\n\n`);
      outputs.end();
      this.suggestions = suggestionsOf(turn.envelopes);
      take(turn.parts.flatMap((part) => (part.type === 'text' && !part.earlier ? [part.text] : [])));
    });
    this.isBegun = true;
    return active;
  }

  /**
   * Sends a text with the attached files, and prints the answer.
   *
   * @param text may be empty where files are sent
   * @returns the exit code
   * @throws {Interrupted} the run is cancelled
   */
  async ask(text: string): Promise<number> {
    const { kwargs, sessionId, files } = this;
    const outputs = newOutputs();
    const view = new AnswerView(outputs, {}, this.client);
    const answer = send(
      this.client,
      text || undefined,
      { files, kwargs: without(kwargs), sessionId },
      outputs,
      view,
    );
    void answer.runId.then(
      () => {
        this.isBegun = true;
        this.files = this.files.filter((file) => !files.includes(file));
      },
      () => undefined,
    );
    return await this.#show(answer, outputs, view);
  }

  /** Prints the answer of a run of this session. @returns the exit code */
  async follow(runId: string): Promise<number> {
    const outputs = newOutputs();
    const view = new AnswerView(outputs, {}, this.client);
    const answer = this.client.follow(runId, 0, { onResume: view.resuming });
    return await this.#show(answer, outputs, view);
  }

  async #show(answer: Answer, outputs: Outputs, view: AnswerView): Promise<number> {
    try {
      const { result, exitCode } = await showToTheEnd(this.client, answer, outputs, view, this.directory);
      this.suggestions = suggestionsOf(result?.envelopes ?? []);
      await outputs.endLine();
      return exitCode;
    } finally {
      outputs.end();
    }
  }
}

/** The session is named once. */
function without({ session_id: _, ...kwargs }: Record<string, unknown>): Record<string, unknown> {
  return kwargs;
}

/** A terminal shows answers as Markdown; elsewhere they are as they are. */
function newOutputs(): Outputs {
  const { stdout, stderr } = process;
  if (!stdout.isTTY) return new Outputs();
  return new Outputs(
    stdout,
    stderr,
    new MarkdownText(() => lookOf(stdout.columns || 80, stdout.hasColors())),
  );
}
