import type {
  AnswerEnvelope,
  FieldError,
  FileDiff,
  FileEnvelope,
  InputRequest,
  PlanEntry,
  ResolvedInput,
  SourceEnvelope,
  ToolCallEnvelope,
  ToolResultEnvelope,
  UsageEnvelope,
} from 'nest-agent-query-client';
import { upTo, usageSum } from 'nest-agent-query-client/streams';
import { filesOf, planOf } from './call-files.js';
import { type Suggestion, suggestionsOf } from './suggestions.js';

/** A call of a tool and what it returned. */
export interface ToolUse {
  kind: 'tool';
  id: string;
  name: string;
  /** What it does, for people. */
  title?: string;
  /** Whether it executes a command. */
  isCommand?: boolean;
  arguments: unknown;
  diffs?: FileDiff[];
  /** The files that it is about, with lines. */
  places?: string[];
  result?: { content: unknown; isError: boolean };
}

/** A request of the run, and what has become of it. */
export interface Asked {
  kind: 'request';
  request: InputRequest;
  /** Absent while it is open. */
  resolved?: ResolvedInput;
  /** Whether this window has sent an answer, and the log does not have it yet. */
  isSending?: boolean;
  /** Why the last answer of this window was refused. The pointers of the faults begin at the value of the answer. */
  refusal?: { message: string; faults: FieldError[] } | undefined;
}

/** What an answer shows, in its order. */
export type AnswerItem =
  | { kind: 'text' | 'reasoning'; id: string | undefined; text: string }
  | ToolUse
  | Asked
  | { kind: 'file'; file: FileEnvelope['data'] }
  | { kind: 'result'; value: unknown }
  | { kind: 'plan'; entries: PlanEntry[] };

/** What an answer shows of its envelopes. */
export class AnswerView {
  #kept: { seq: number; envelope: AnswerEnvelope }[] = [];
  items: AnswerItem[] = [];
  logs: string[] = [];
  sources: SourceEnvelope['data'][] = [];
  progress: { done: number; total?: number; unit?: string; label?: string } | undefined;
  usage: UsageEnvelope['data'] | undefined;
  /** What the agent offers to ask next. The last envelope of the answer holds. */
  suggestions: Suggestion[] = [];
  /** How often the answer began again. */
  restarts = 0;

  /** The text of all messages, as the client joins them. */
  get text(): string {
    return this.items.flatMap((item) => (item.kind === 'text' ? [item.text] : [])).join('');
  }

  /** The requests that nobody has answered. */
  get open(): Asked[] {
    return this.items.filter((item) => item.kind === 'request' && !item.resolved) as Asked[];
  }

  /** The newest call of an id. */
  callOf(id: string | undefined): ToolUse | undefined {
    return this.items.findLast((item): item is ToolUse => item.kind === 'tool' && item.id === id);
  }

  /** @param seq the number of the envelope in the log */
  add(seq: number, envelope: AnswerEnvelope): void {
    if (envelope.type === 'restarted') return this.#restart(envelope.data.from);
    this.#kept.push({ seq, envelope });
    this.#show(envelope);
  }

  /** Shows what has become of requests. */
  resolve(answers: readonly ResolvedInput[]): void {
    for (const resolved of answers) {
      const asked = this.items.findLast((item) => item.kind === 'request' && item.request.id === resolved.id);
      if (asked) Object.assign(asked, { resolved, isSending: false });
    }
  }

  /** Shows a whole text in place of its pieces. */
  replaceText(text: string): void {
    const at = this.items.findIndex(({ kind }) => kind === 'text');
    const others = this.items.filter(({ kind }) => kind !== 'text');
    this.items = others.toSpliced(Math.max(0, at), 0, { kind: 'text', id: undefined, text });
  }

  /** What a lost process has said after its last checkpoint disappears. */
  #restart(from: number): void {
    const kept = upTo(this.#kept, from);
    const { restarts } = this;
    Object.assign(this, new AnswerView());
    this.restarts = restarts + 1;
    this.#kept = kept;
    for (const { envelope } of kept) this.#show(envelope);
  }

  #show(envelope: AnswerEnvelope): void {
    const { type, data }: { type: string; data: object } = envelope;
    if (type === 'suggestions') this.suggestions = suggestionsOf(data);
    switch (envelope.type) {
      case 'message':
        return this.#join('text', envelope.data);
      case 'reasoning':
        return this.#join('reasoning', envelope.data);
      case 'tool_call':
        return this.#call(envelope.data);
      case 'tool_result':
        return this.#result(envelope.data);
      case 'plan':
        return this.#plan(envelope.data);
      case 'input_required':
        for (const request of envelope.data.requests) this.items.push({ kind: 'request', request });
        return;
      case 'input_resolved':
        return this.resolve(envelope.data.answers);
      case 'file':
        this.items.push({ kind: 'file', file: envelope.data });
        return;
      case 'result':
        this.items.push({ kind: 'result', value: envelope.data.value });
        return;
      case 'source':
        this.sources.push(envelope.data);
        return;
      case 'log':
        this.logs.push(envelope.data.message);
        return;
      case 'progress':
        this.progress = envelope.data;
        return;
      case 'usage':
        this.usage = usageSum(this.usage, envelope.data);
    }
  }

  /** Neighbouring chunks with the same id are one text. */
  #join(kind: 'text' | 'reasoning', { content, id }: { content: string; id?: string }): void {
    const last = this.items.at(-1);
    if (last?.kind === kind && last.id === id) last.text += content;
    else this.items.push({ kind, id, text: content });
  }

  /** A plan stays at its place, and changes. */
  #plan(data: unknown): void {
    const entries = planOf(data);
    if (!entries) return;
    const shown = this.items.find((item) => item.kind === 'plan');
    if (shown) shown.entries = entries;
    else this.items.push({ kind: 'plan', entries });
  }

  /** Data may have more members than the interface names: an agent must not name what the page shows. */
  #call(data: ToolCallEnvelope['data']): void {
    const { id, name, arguments: given, title, kind } = data;
    const shown = {
      ...(typeof title === 'string' && { title }),
      ...(kind === 'execute' && { isCommand: true }),
    };
    this.items.push({ kind: 'tool', id, name, arguments: given, ...shown, ...filesOf(data) });
  }

  /** A result may be the first to say what was changed. */
  #result(data: ToolResultEnvelope['data']): void {
    const { id, content, isError = false } = data;
    const call = this.callOf(id) ?? this.#unknownCall(id);
    Object.assign(call, { result: { content, isError }, ...filesOf(data) });
  }

  #unknownCall(id: string): ToolUse {
    this.#call({ id, name: 'tool', arguments: undefined });
    return this.callOf(id)!;
  }
}
