import type { RunItem } from '@openai/agents';
import { type Envelope, message, reasoning, source, toolCall, toolResult } from 'nest-agent-query';
import { shownResult } from 'nest-agent-query-adapters';
import { argumentsOf } from './arguments.js';
import { type ToolOutcomes, resultEnvelopes } from './result-envelopes.js';
import { outputFile } from './output-files.js';

type ItemOf<T extends RunItem['type']> = Extract<RunItem, { type: T }>;
type Call = ItemOf<'tool_call_item'>['rawItem'];
type HostedCall = Extract<Call, { type: 'hosted_tool_call' }>;

/** What was already emitted of a response, piece by piece. */
interface Emitted {
  readonly hasText: boolean;
  readonly hasReasoning: boolean;
}

/**
 * The envelopes of an item, which is complete. Its text and its reasoning are left out if they were emitted in pieces.
 *
 * @param sources the URLs that were emitted as sources; those of the item are added
 */
export function envelopesOfItem(
  item: RunItem,
  emitted: Emitted,
  sources: Set<string>,
  outcomes: ToolOutcomes,
): Envelope[] {
  switch (item.type) {
    case 'message_output_item':
      return messageEnvelopes(item, emitted, sources);
    case 'reasoning_item':
      return emitted.hasReasoning ? [] : reasoningEnvelopes(item);
    case 'tool_call_item':
    case 'handoff_call_item':
      return callEnvelopes(item.rawItem);
    case 'tool_call_output_item':
      return resultEnvelopes(item.rawItem, item.output, outcomes);
    case 'handoff_output_item':
      return resultEnvelopes(item.rawItem, undefined, outcomes);
    default:
      return [];
  }
}

function messageEnvelopes(
  { rawItem }: ItemOf<'message_output_item'>,
  emitted: Emitted,
  sources: Set<string>,
): Envelope[] {
  const envelopes: Envelope[] = [];
  for (const content of rawItem.content) {
    if (content.type === 'output_text') {
      if (!emitted.hasText && content.text !== '') envelopes.push(message(content.text));
      envelopes.push(...sourceEnvelopes(content.providerData?.['annotations'], sources));
    }
    // The framework ends with an error that has the refusal, if there is no text beside it.
    if (content.type === 'refusal' && rawItem.content.length > 1) envelopes.push(message(content.refusal));
    const file = content.type === 'image' ? outputFile(content.image, 'image/png', 'image') : undefined;
    if (file) envelopes.push(file.envelope);
  }
  return envelopes;
}

function sourceEnvelopes(annotations: unknown, sources: Set<string>): Envelope[] {
  const envelopes: Envelope[] = [];
  for (const annotation of Array.isArray(annotations) ? annotations : []) {
    const { type, url, title } = annotation as Record<string, unknown>;
    if (type !== 'url_citation' || typeof url !== 'string' || sources.has(url)) continue;
    sources.add(url);
    envelopes.push(source(url, { title: typeof title === 'string' ? title : undefined }));
  }
  return envelopes;
}

function reasoningEnvelopes({ rawItem }: ItemOf<'reasoning_item'>): Envelope[] {
  const texts = rawItem.rawContent?.length ? rawItem.rawContent : rawItem.content;
  return texts.filter(({ text }) => text !== '').map(({ text }) => reasoning(text));
}

/** A call of a tool, or a handoff. */
function callEnvelopes(call: Call): Envelope[] {
  switch (call.type) {
    case 'function_call':
      return [toolCall(call.callId, call.name, argumentsOf(call.arguments))];
    case 'hosted_tool_call':
      return hostedEnvelopes(call);
    case 'computer_call':
      return [toolCall(call.callId, 'computer', { actions: call.actions ?? [call.action] })];
    case 'shell_call':
      return [toolCall(call.callId, 'shell', call.action)];
    case 'apply_patch_call':
      return [toolCall(call.callId, 'apply_patch', call.operation)];
    default:
      return [];
  }
}

/** A call of a tool that the provider executes itself. Its result comes with it. */
function hostedEnvelopes({ id, name, output, status, providerData, ...call }: HostedCall): Envelope[] {
  if (id === undefined) return [];
  const args = argumentsOf(call.arguments) ?? (providerData?.['action'] as unknown) ?? {};
  const isError = status === 'failed' || undefined;
  const type = `image/${String(providerData?.['output_format'] ?? 'png')}`;
  const image = name === 'image_generation_call' ? outputFile(output, type, 'image') : undefined;
  const content = image?.description ?? output ?? status ?? null;
  return [
    toolCall(id, name, args),
    toolResult(id, shownResult(content), { isError }),
    ...(image ? [image.envelope] : []),
  ];
}
