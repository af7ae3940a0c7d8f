import { type Envelope, log, message, type QueryError, reasoning } from 'nest-agent-query';
import { contentEnvelopes } from './content.js';
import { agentFailure, saidFailure } from './failures.js';
import type { KnownCall } from './known-call.js';
import { membersOf, textIn } from './members.js';
import { noteOf } from './notes.js';
import { planOf } from './plans.js';
import { remarkOf } from './remarks.js';
import { RepeatedText } from './repeated-text.js';
import { noteOfEnd } from './stop-reasons.js';
import { ToolCalls } from './tool-calls.js';
import { usageOfChunk, usageOfResponse } from './usage.js';

/** What a text of the answer is, if it is not a part of the answer: a remark for the log, or an error that ends the turn. */
export type Remarks = (text: string, update: unknown) => 'log' | 'error' | undefined;

export interface TranslationSettings {
  /** The session of the agent that is prompted. Updates of any other belong to a child of it. */
  sessionId: string;
  /** The folder of the session, an absolute path: callers see paths inside it relative to it. */
  cwd: string;
  /** Default: a text is a remark if its `_meta` has a level. */
  remarks?: Remarks | undefined;
}

const SAID_AGAIN =
  'The agent says its text again from the beginning, because the answer of the model was cut.';

/** Translates one prompt turn of a run. It throws for nothing that an agent can send. */
export class Translation {
  readonly #calls: ToolCalls;
  readonly #repeated = new RepeatedText();
  readonly #children: string[] = [];
  #files = 0;
  #hasText = false;
  #hasUsage = false;
  #error: string | undefined;

  constructor(private readonly settings: TranslationSettings) {
    this.#calls = new ToolCalls(settings.cwd);
  }

  /** Whether the model has answered anything. */
  get hasBegun(): boolean {
    return this.#hasText || this.#calls.size > 0;
  }

  /**
   * What callers get of an update.
   *
   * @param params of the notification `session/update`. What is not of the protocol tells nothing
   */
  update(params: unknown): Envelope[] {
    const { sessionId, update } = membersOf(params);
    const members = membersOf(update);
    const child = this.#childOf(sessionId);
    switch (members['sessionUpdate']) {
      case 'agent_message_chunk':
        return child === undefined ? this.#said(members) : thought(members, child);
      case 'agent_thought_chunk':
        return thought(members, child ?? textIn(members['messageId']));
      case 'tool_call':
      case 'tool_call_update':
        this.#repeated.interrupted();
        return this.#calls.updated(sessionOf(sessionId), members);
      case 'plan':
        return child === undefined ? planOf(members) : [];
      default:
        return noteOf(members);
    }
  }

  /**
   * A permission is asked.
   *
   * @param params of the request `session/request_permission`
   * @returns the call that it is about, and its `tool_call` if callers do not have it yet
   */
  asked(params: unknown): { call: KnownCall; envelopes: Envelope[] } {
    const { sessionId, toolCall } = membersOf(params);
    this.#repeated.interrupted();
    return this.#calls.asked(sessionOf(sessionId), membersOf(toolCall));
  }

  /**
   * The agent has answered the prompt.
   *
   * @returns the last envelopes of the turn, and how it ended: an error is thrown after the envelopes
   */
  ended(response: unknown): { envelopes: Envelope[]; end: 'completed' | QueryError } {
    const used = this.#hasUsage ? [] : usageOfResponse(response);
    const note = noteOfEnd(membersOf(response)['stopReason']);
    const envelopes = [...this.closed(), ...used, ...(note === undefined ? [] : [log(note)])];
    const end = this.#error === undefined ? 'completed' : saidFailure(this.#error, this.hasBegun);
    return { envelopes, end };
  }

  /** The prompt has failed: the calls that are open, and what the run fails with. */
  failed(error: unknown): { envelopes: Envelope[]; error: QueryError } {
    return { envelopes: this.closed(), error: agentFailure(error, this.hasBegun) };
  }

  /** Results for the calls that have none, such as at a cancel. */
  closed(): Envelope[] {
    return this.#calls.closed();
  }

  #said(update: Record<string, unknown>): Envelope[] {
    const { content, messageId, _meta: meta } = update;
    const said = this.#saidContent(membersOf(content), textIn(messageId), update);
    if (meta === undefined) return said;
    const used = usageOfChunk(meta);
    if (used.length > 0) this.#hasUsage = true;
    return [...said, ...used];
  }

  #saidContent(
    content: Record<string, unknown>,
    id: string | undefined,
    update: Record<string, unknown>,
  ): Envelope[] {
    const { type, text } = content;
    if (type !== 'text') return contentEnvelopes(content, ++this.#files);
    if (typeof text !== 'string' || text === '') return [];
    const remark = this.settings.remarks?.(text, update) ?? remarkOf(text, update['_meta']);
    if (remark === 'log') return [log(text.trim())];
    if (remark === 'error') this.#error ??= text;
    if (remark !== undefined) return [];
    this.#hasText = true;
    const part = id === undefined ? message(text) : message(text, { id });
    return this.#repeated.repeats(id, text) ? [log(SAID_AGAIN), part] : [part];
  }

  /** The id of the reasoning of a child; undefined for the session itself. */
  #childOf(sessionId: unknown): string | undefined {
    const id = sessionOf(sessionId);
    if (id === this.settings.sessionId || id === '') return undefined;
    if (!this.#children.includes(id)) this.#children.push(id);
    return `child-${this.#children.indexOf(id) + 1}`;
  }
}

function sessionOf(sessionId: unknown): string {
  return textIn(sessionId) ?? '';
}

/** The text of a child session is not the answer: it is what the agent thinks on the way. */
function thought({ content }: Record<string, unknown>, id: string | undefined): Envelope[] {
  const text = textIn(membersOf(content)['text']);
  return text === undefined ? [] : [reasoning(text, { id })];
}
