import type { InputRequest, ResolvedInput, Turn } from 'nest-agent-query';
import type { PastTurn } from '../../view/past-turns.js';
import { readEnvelopes } from '../../view/read-log.js';
import { AnswerForm } from '../answer/answer-form.js';
import { ItemJson } from '../answer/item-json.js';
import type { AnswerItem } from '../answer/items.js';
import { askedId } from '../asking/asked-calls.js';

/** An item of a conversation, as OpenAI has it. */
export interface Item {
  id: string;
  [member: string]: unknown;
}

/** The items of a query. @param parts of the query, after the earlier texts */
export function itemsOfQuery(runId: string, parts: Turn['parts']): Item[] {
  const items: Item[] = [];
  let own: Item | undefined;
  for (const part of parts) {
    const from = (part.type === 'text' && part.earlier) || undefined;
    const content = contentOf(part, from);
    if (!from && own) (own['content'] as unknown[]).push(content);
    else {
      const id = `msg_${runId}_q${items.length}`;
      const item = { id, type: 'message', role: from ?? 'user', status: 'completed', content: [content] };
      if (!from) own = item;
      items.push(item);
    }
  }
  return items;
}

function contentOf(part: Turn['parts'][number], from: string | undefined): object {
  if (part.type === 'text' && from === 'assistant')
    return { type: 'output_text', text: part.text, annotations: [], logprobs: [] };
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  const { name, mimeType, sha256 } = part;
  if (mimeType.startsWith('image/'))
    return { type: 'input_image', detail: 'auto', file_id: sha256, image_url: null };
  return { type: 'input_file', filename: name, file_id: sha256 };
}

/** The items of a turn: of its query, of its answer, and what the client has answered. */
export function itemsOfTurn({ runId, parts, envelopes, end }: Turn): Item[] {
  const form = new TurnForm(runId);
  readEnvelopes([...envelopes, { type: 'done', data: end }], form);
  return [...itemsOfQuery(runId, parts), ...form.all];
}

/** The items of a run that asks: of its query, and of its responses, which are complete. */
export async function itemsOfAsking({ runId, parts, read }: PastTurn): Promise<Item[]> {
  const { all } = await read(() => new TurnForm(runId));
  return [...itemsOfQuery(runId, parts), ...all];
}

/** Reads all legs of a run as items. */
export class TurnForm extends AnswerForm {
  readonly all: Item[] = [];
  readonly #items: ItemJson;
  readonly #requests = new Map<string, InputRequest>();

  constructor(private readonly runId: string) {
    super({ leg: Infinity, isStructured: false }, 0);
    this.#items = new ItemJson(runId);
  }

  protected override read(line: string, seq: number): void {
    super.read(line, seq);
    if (line.startsWith('{"type":"input_resolved"'))
      this.#answered((JSON.parse(line) as { data: { answers: ResolvedInput[] } }).data.answers);
  }

  protected override opened(): void {}
  protected override added(): void {}
  protected override taken(): void {}
  protected override annotated(): void {}
  protected override restarted(): void {}
  protected override paused(): void {}
  protected override ended(): void {}

  protected override closed(item: AnswerItem): void {
    // Without a log, all texts are held.
    const json = (this.#items.item(item) as string[]).join('');
    this.all.push(JSON.parse(json) as Item);
  }

  protected override told(item: AnswerItem): void {
    if (item.type === 'asked') this.#requests.set(item.request.id, item.request);
    this.closed(item);
  }

  #answered(answers: ResolvedInput[]): void {
    for (const { id, outcome, value } of answers) {
      const request = this.#requests.get(id);
      if (outcome === 'answered' && request) this.all.push(answerItem(this.runId, request, value));
    }
  }
}

/** What a client has answered, as an item. */
export function answerItem(runId: string, { id, kind }: InputRequest, value: unknown): Item {
  if (kind === 'approval') {
    const { approved, reason = null } = value as { approved: boolean; reason?: string };
    return {
      id: `${askedId('mcpr', runId, id)}_a`,
      type: 'mcp_approval_response',
      approval_request_id: askedId('mcpr', runId, id),
      approve: approved,
      reason,
    };
  }
  const output = kind === 'tool' ? (value as { content: unknown } | undefined)?.content : value;
  return {
    id: `${askedId('fc', runId, id)}_a`,
    type: 'function_call_output',
    call_id: askedId('call', runId, id),
    output: typeof output === 'string' ? output : (JSON.stringify(output) ?? ''),
    status: 'completed',
  };
}
