import type { Piece } from 'nest-agent-query/protocol';
import { askedCall, askedId } from '../asking/asked-calls.js';
import {
  type AnswerItem,
  type Annotation,
  type AskedItem,
  type CallItem,
  isText,
  type TextItem,
} from './items.js';

/** The label of the server that a call belongs to, which is the agent itself. */
const SERVER = 'agent';

const PREFIXES = { message: 'msg', reasoning: 'rs', call: 'mcp' } as const;

/** Writes the items of a run as OpenAI has them. All of it is JSON, because a text is kept as the log has it. */
export class ItemJson {
  constructor(private readonly runId: string) {}

  id(item: AnswerItem): string {
    if (item.type !== 'asked') return `${PREFIXES[item.type]}_${this.runId}_${item.number}`;
    return askedId(item.request.kind === 'approval' ? 'mcpr' : 'fc', this.runId, item.request.id);
  }

  /** @param isOpen whether the text goes on */
  item(item: AnswerItem, isOpen = false): Piece[] {
    if (isText(item)) return isOpen ? this.#openText(item) : this.#text(item);
    return [JSON.stringify(item.type === 'call' ? this.call(item) : this.asked(item))];
  }

  call(item: CallItem) {
    const { call, result } = item;
    const text =
      result && (typeof result.content === 'string' ? result.content : JSON.stringify(result.content));
    const { approval } = call;
    return {
      id: this.id(item),
      type: 'mcp_call',
      server_label: SERVER,
      name: call.name,
      arguments: JSON.stringify(call.arguments ?? {}),
      output: result?.isError ? null : (text ?? null),
      error: result?.isError ? text! : null,
      status: result ? (result.isError ? 'failed' : 'completed') : 'incomplete',
      approval_request_id: approval === undefined ? null : askedId('mcpr', this.runId, approval),
    };
  }

  asked(item: AskedItem) {
    const { request } = item;
    const id = this.id(item);
    if (request.kind === 'approval') {
      const { name = request.id, message, arguments: args = { message } } = request;
      return {
        id,
        type: 'mcp_approval_request',
        server_label: SERVER,
        name,
        arguments: JSON.stringify(args),
      };
    }
    const call_id = askedId('call', this.runId, request.id);
    return { id, type: 'function_call', call_id, ...askedCall(request), status: 'completed' };
  }

  /** The part of a text, whole or as it begins. */
  part({ type, annotations }: Pick<TextItem, 'type' | 'annotations'>, text: Piece): Piece[] {
    if (type === 'reasoning') return ['{"type":"summary_text","text":"', text, '"}'];
    const cited = JSON.stringify(annotations.map(citation));
    return ['{"type":"output_text","text":"', text, `","annotations":${cited},"logprobs":[]}`];
  }

  #text(item: TextItem): Piece[] {
    return this.#whole(item, item.isCut ? 'incomplete' : 'completed', this.part(item, item.text.json));
  }

  #openText(item: TextItem): Piece[] {
    return this.#whole(item, 'in_progress', []);
  }

  #whole(item: TextItem, status: string, parts: Piece[]): Piece[] {
    const id = this.id(item);
    if (item.type === 'reasoning') return [`{"id":"${id}","type":"reasoning","summary":[`, ...parts, ']}'];
    const head = `{"id":"${id}","type":"message","role":"assistant","status":"${status}","content":[`;
    return [head, ...parts, ']}'];
  }
}

export function citation({ url, title, at }: Annotation) {
  return { type: 'url_citation', url, title, start_index: at, end_index: at };
}
