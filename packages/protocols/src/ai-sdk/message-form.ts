import { type Envelope, type InputRequest, isApproved, type RunEnd } from 'nest-agent-query';
import { AskedRequests } from 'nest-agent-query/protocol';
import { chunkOf, EventForm } from '../view/event-form.js';
import { messageIdOf } from './message-id.js';
import { MessageParts } from './message-parts.js';
import { callIdOf, callOf, chunksOfAnswer, resultOf } from './questions.js';

/** Void envelopes: the number of the first, and that of the envelope behind the last. */
export type VoidRange = readonly [first: number, end: number];

/** What a response shows of a run. */
export interface Shown {
  runId: string;
  version: 6 | 7;
  /** The number of the envelope before the answers that the response begins with; 0 if it begins with the run. */
  since: number;
  /** What the run has asked up to this envelope is answered: the response does not end there. */
  answeredUpTo: number;
  /** What is not shown, because it is known already that it is void. */
  voids: readonly VoidRange[];
  /** The ids of the requests that were approved already. Default: none. */
  approved?: ReadonlySet<string>;
}

/** How an envelope begins. */
const TYPE = '{"type":"';

/** The types whose envelopes are pieces of a text. */
const TEXTS = new Map<string, 'text' | 'reasoning'>([
  ['message', 'text'],
  ['reasoning', 'reasoning'],
]);

/** The types that say how the run proceeds: messages do not keep them. */
const TRANSIENT = new Set(['log', 'progress']);

/** The types of which a text ends. Those that no turn keeps may come within a text. */
const ENDS_TEXT = new Set(['tool_call', 'tool_result', 'file', 'source', 'result', 'usage', 'suggestions']);

/** How runs end, for the client. */
const FINISH = { completed: 'stop', failed: 'error', cancelled: 'other' };

/**
 * Takes the place of the question about a call that was approved already, so that the chunks after it keep their numbers. Version 6 has
 * no chunk for the approval: its clients would ask again until the call has a result.
 */
const NOTHING = { type: 'message-metadata', messageMetadata: null };

/** An envelope as a chunk of its own type. */
function dataPart(line: string): string {
  return `${TYPE}data-${line.slice(TYPE.length)}`;
}

/** The log of a run as the chunks of one message of the AI SDK. */
export class MessageForm extends EventForm {
  /** What a restart has made void although the client has it, and cannot be told. The response ends there, without `finish`. */
  untold: VoidRange | undefined;
  /** The ids of the requests that were approved. */
  readonly approved = new Set<string>();
  readonly #parts = new MessageParts((chunk) => this.write(chunk));
  readonly #asked = new AskedRequests();
  /** The number of the newest envelope that asks. */
  #askedAt = 0;
  #isShown: boolean;
  #count: number | undefined;
  #hasStarted = false;

  /**
   * @param from the number of the first chunk that is written; those of the response are counted from 0
   * @param tail the number of the newest chunk, for the client that has counted from there. Default: it has not
   */
  constructor(
    private readonly shown: Shown,
    from = 0,
    private readonly tail?: number,
  ) {
    super(from);
    this.#isShown = shown.since === 0;
  }

  /** The number of the envelope that asks what is not answered; undefined if everything is. */
  get openAt(): number | undefined {
    return this.#asked.open.length > 0 ? this.#askedAt : undefined;
  }

  /** How many chunks the response has: `[DONE]` is none. */
  get count(): number {
    return this.#count ?? this.number;
  }

  override headers(): Record<string, string> {
    const { runId, since } = this.shown;
    return {
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-workflow-run-id': since === 0 ? runId : `${runId}.${since}`,
      ...(this.tail !== undefined && { 'x-workflow-stream-tail-index': String(this.tail) }),
    };
  }

  protected override write(chunk: string): void {
    if (this.#isShown) super.write(chunk);
  }

  protected override read(line: string, seq: number): void {
    const parts = this.#parts;
    const isVoid = this.#isVoid(seq);
    const content = parts.continuation === undefined || isVoid ? undefined : chunkOf(line);
    if (content !== undefined) {
      this.write(`${parts.continuation}${content}}`);
      parts.last = seq;
      return;
    }
    this.#start();
    const envelope = JSON.parse(line) as Envelope;
    if (!this.#readEvent(envelope, line, seq, isVoid) && !isVoid) this.#readPart(envelope, line, seq);
  }

  /** Reads an envelope that says how the run proceeds. Returns false if it is another one. */
  #readEvent(envelope: Envelope, line: string, seq: number, isVoid: boolean): boolean {
    const { type, data } = envelope;
    const goesOn = this.#asked.read(envelope);
    if (type === 'input_required') this.#ask((data as { requests: InputRequest[] }).requests, seq, isVoid);
    else if (type === 'input_resolved') this.#resolve(goesOn, seq);
    else if (type === 'restarted') this.#restart((data as { from: number }).from, seq);
    else if (type === 'done') this.#end(data as RunEnd, line);
    else return false;
    return true;
  }

  #readPart({ type, data }: Envelope, line: string, seq: number): void {
    const parts = this.#parts;
    const text = TEXTS.get(type);
    if (text) return parts.piece(text, data as { content: string }, seq);
    if (TRANSIENT.has(type)) return this.write(`${dataPart(line).slice(0, -1)},"transient":true}`);
    if (ENDS_TEXT.has(type)) parts.closeText();
    if (type === 'tool_call') {
      const { id: toolCallId, name: toolName, arguments: input } = data as ToolCall;
      parts.call({ type: 'tool-input-available', toolCallId, toolName, input }, seq);
    } else if (type === 'tool_result') {
      const { id, content, isError = false } = data as ToolResult;
      parts.result(resultOf(id, content, isError), seq);
    } else if (type === 'source') {
      const { url, title } = data as { url: string; title?: string };
      parts.part(JSON.stringify({ type: 'source-url', sourceId: `source_${seq}`, url, title }), seq);
    } else if (type === 'file') {
      const { path: url, mimeType: mediaType } = data as { path: string; mimeType: string };
      parts.part(JSON.stringify({ type: 'file', url, mediaType }), seq);
    } else parts.part(dataPart(line), seq);
  }

  #ask(requests: InputRequest[], seq: number, isVoid: boolean): void {
    const parts = this.#parts;
    parts.closeText();
    parts.leaveCalls(requests.map(callIdOf));
    this.#askedAt = seq;
    for (const request of isVoid ? [] : requests) {
      const toolCallId = callIdOf(request);
      if (!parts.isOpenCall(toolCallId)) parts.call(callOf(request), seq);
      parts.last = seq;
      if (request.kind !== 'approval') continue;
      const isKnown = this.shown.version === 6 && this.shown.approved?.has(request.id);
      parts.add(isKnown ? NOTHING : { type: 'tool-approval-request', approvalId: request.id, toolCallId });
    }
    parts.endStep();
    if (seq > this.shown.answeredUpTo) this.#finish('tool-calls');
  }

  #resolve(goesOn: boolean, seq: number): void {
    if (!goesOn) return;
    if (seq > this.shown.since) this.#isShown = true;
    this.#start();
    for (const [request, answer] of this.#asked.resolved) {
      if (isApproved(answer)) this.approved.add(request.id);
      for (const chunk of chunksOfAnswer(request, answer, this.shown.version)) this.#parts.result(chunk);
    }
  }

  #restart(from: number, seq: number): void {
    const parts = this.#parts;
    if (parts.last <= from) return parts.closeText();
    if (this.shown.version === 7 && parts.resetStep(from)) return;
    this.untold = [from + 1, seq];
    this.isOver = true;
  }

  #end(end: RunEnd, line: string): void {
    const parts = this.#parts;
    if (end.status === 'failed') {
      parts.endStep();
      parts.add({ type: 'error', errorText: end.error.message });
    } else parts.endMessage(dataPart(line));
    if (end.status === 'cancelled') parts.add({ type: 'abort', reason: 'cancelled' });
    this.#finish(FINISH[end.status]);
  }

  #start(): void {
    if (this.#hasStarted || !this.#isShown) return;
    this.#hasStarted = true;
    this.#parts.add({ type: 'start', messageId: messageIdOf(this.shown.runId) });
  }

  #finish(finishReason: string): void {
    this.#parts.add({ type: 'finish', finishReason });
    this.#count = this.number;
    this.write('[DONE]');
    this.isOver = true;
  }

  #isVoid(seq: number): boolean {
    const { voids } = this.shown;
    return voids.length > 0 && voids.some(([first, end]) => first <= seq && seq < end);
  }
}

interface ToolCall {
  id: string;
  name: string;
  arguments: unknown;
}

interface ToolResult {
  id: string;
  content: unknown;
  isError?: boolean;
}
