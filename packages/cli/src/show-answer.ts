import type {
  Answer,
  AnswerEnvelope,
  AnswerResult,
  ProgressEnvelope,
  RestartedEnvelope,
  ResumeInfo,
} from 'nest-agent-query-client';
import { upTo } from 'nest-agent-query-client/streams';
import { type InputCalls, passPause } from './asking/pause.js';
import { noteOfAnswers, noteOfRequests } from './asking/request-text.js';
import { EXIT } from './exit-codes.js';
import { Outputs } from './outputs.js';
import { printableJson, printableLine } from './printable.js';
import { barOf, bytesText } from './status-line.js';
import { suggestionsOf, textOfSuggestions } from './suggestions.js';

/** How an answer is printed. */
export interface ShowOptions {
  /** Every envelope as a line of JSON, instead of the text. */
  json?: true;
  /** The text when it is complete, instead of as it arrives. */
  whole?: true;
  /** The structured result as JSON, instead of the text. */
  result?: true;
}

/** The most characters of what tools are given and return. `--json` has all of it. */
const TOOL_LENGTH = 200;

/** Prints an answer while it arrives. */
export class AnswerView {
  /** The pieces of the text that are valid, with the numbers of their envelopes. */
  #pieces: { seq: number; text: string }[] = [];
  #isReasoning = false;

  constructor(
    private readonly outputs: Outputs,
    private readonly options: ShowOptions,
    private readonly client: InputCalls,
  ) {}

  /**
   * @param asksAt the number of an envelope after which the run asks, also if it was asked before this answer begins
   * @returns how the run ended; undefined if it asks, and the person has left it so, or there is none
   */
  async show(answer: Answer, asksAt?: number): Promise<AnswerResult | undefined> {
    const { json, whole, result: isResultOnly } = this.options;
    this.outputs.showStatus('Waiting for the answer');
    if (answer.after === asksAt && (await this.#passPause(answer)) === 'left') return undefined;
    for await (const envelope of answer) {
      if (json) await this.outputs.line(printableJson(envelope));
      else await this.#print(envelope, answer.after);
      const isAsked = envelope.type === 'input_required';
      if (!isAsked && answer.after !== asksAt) continue;
      const passed = await this.#passPause(answer);
      if (passed === 'left') return undefined;
      if (isAsked && passed === 'over' && !json) this.outputs.note(noteOfRequests(envelope.data.requests));
    }
    const result = await answer.result();
    if (isResultOnly && !json) await this.#printResult(result);
    else if (whole && !json) await this.outputs.text(result.text);
    await this.outputs.endText();
    return result;
  }

  /** Says that the connection was lost. */
  readonly resuming = ({ delayMs, error }: ResumeInfo): void => {
    this.outputs.note(`${error.message} Trying again in ${(delayMs / 1000).toFixed(1)} s.`);
    this.outputs.showStatus('Waiting for the connection');
  };

  #passPause(answer: Answer): ReturnType<typeof passPause> {
    return passPause(this.client, answer, this.outputs, !this.options.json);
  }

  async #print(envelope: AnswerEnvelope, seq: number): Promise<void> {
    if (envelope.type !== 'reasoning') this.#isReasoning = false;
    switch (envelope.type) {
      case 'message':
        return this.#message(envelope.data.content, seq);
      case 'restarted':
        return this.#restarted(envelope.data);
      case 'reasoning':
        this.outputs.piece((this.#isReasoning ? '' : 'reasoning: ') + envelope.data.content);
        this.#isReasoning = true;
        return;
      case 'progress':
        return this.#progress(envelope.data);
      default: {
        const note = noteOf(envelope);
        if (note !== undefined) this.outputs.note(note);
      }
    }
  }

  async #message(text: string, seq: number): Promise<void> {
    if (this.options.whole || this.options.result) return;
    this.#pieces.push({ seq, text });
    await this.outputs.text(text);
  }

  /** What was printed cannot be taken back. So all that is still valid is printed again, after a line that says so. */
  async #restarted({ attempt, from }: RestartedEnvelope['data']): Promise<void> {
    this.outputs.note(
      `The process of the agent ended. Another one continues the answer (attempt ${attempt}).`,
    );
    const valid = upTo(this.#pieces, from);
    if (valid.length === this.#pieces.length) return;
    this.#pieces = valid;
    await this.outputs.line('--- What is above this line is void. The answer begins again. ---');
    for (const { text } of valid) await this.outputs.text(text);
  }

  async #printResult(result: AnswerResult): Promise<void> {
    if ('value' in result) await this.outputs.line(printableJson(result.value));
    else this.outputs.note('The run has no structured result.');
  }

  #progress({ done, total, unit = '', label = 'progress' }: ProgressEnvelope['data']): void {
    const count = `${done}${total === undefined ? '' : `/${total}`} ${unit}`.trim();
    const line = printableLine(`${label}: ${count}`);
    if (!this.outputs.showStatus(`${barOf(done, total)} ${line}`.trim())) this.outputs.note(line);
  }
}

/** The line of an envelope that is neither a piece of a text nor the end. */
function noteOf(envelope: AnswerEnvelope): string | undefined {
  switch (envelope.type) {
    case 'log':
      return `log: ${envelope.data.message}`;
    case 'tool_call':
      return `tool: ${toolText(envelope.data.name)} ${toolText(envelope.data.arguments)}`;
    case 'tool_result':
      return `tool ${envelope.data.isError ? 'failed' : 'returned'}: ${toolText(envelope.data.content)}`;
    case 'input_resolved':
      return noteOfAnswers(envelope.data.answers);
    case 'result':
      return `result: ${toolText(envelope.data.value)}`;
    case 'source':
      return `source: ${printableLine(`${envelope.data.title ?? ''} ${envelope.data.url}`)}`;
    case 'file': {
      const { name, mimeType, size } = envelope.data;
      return `file: ${printableLine(`${name} (${mimeType}, ${bytesText(size)})`)}`;
    }
    default:
      return undefined;
  }
}

function toolText(value: unknown): string {
  return printableLine(typeof value === 'string' ? value : JSON.stringify(value), TOOL_LENGTH);
}

/**
 * Says how the run ended, unless it was completed, and on a terminal what the agent suggests.
 *
 * @param result undefined if the run asks
 * @param isSaved whether its files were saved that should be
 * @returns the exit code
 */
export function reportEnd(outputs: Outputs, result: AnswerResult | undefined, isSaved: boolean): number {
  if (!result) return EXIT.asks;
  const { status, error, usage, runId, envelopes } = result;
  if (usage) outputs.note(`usage: ${usage.inputTokens} tokens in, ${usage.outputTokens} tokens out`);
  if (status === 'failed') outputs.note(`The run ${runId} failed: ${error?.message} (${error?.code})`);
  if (status === 'cancelled') outputs.note(`The run ${runId} was cancelled.`);
  const suggestions = suggestionsOf(envelopes);
  if (suggestions.length > 0 && outputs.isOnTerminal) outputs.note(textOfSuggestions(suggestions));
  return status === 'completed' && isSaved ? EXIT.ok : EXIT.failed;
}
