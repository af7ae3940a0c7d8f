import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
} from '@ai-sdk/provider';
import { simulateReadableStream } from 'ai';

/** What it says when a question names no order. */
const HELP = `I am a script, not a language model: no \`MODEL\` is set. I can look up an order. Ask me:

- Where is order 1001?
- Has 1003 arrived?
`;

/** Milliseconds between two words, so that the answer can be watched. */
const PAUSE_MS = 20;

const UNKNOWN_USAGE = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/**
 * Answers without a network and without a key, always in the same way: a question with a number becomes a call of the tool
 * `findOrder`, and the result of the tool becomes the answer.
 */
export class ScriptedModel implements LanguageModelV3 {
  readonly specificationVersion = 'v3';
  readonly provider = 'scripted';
  readonly modelId = 'scripted';
  readonly supportedUrls = {};

  async doStream({ prompt }: LanguageModelV3CallOptions): Promise<LanguageModelV3StreamResult> {
    const chunks: LanguageModelV3StreamPart[] = [{ type: 'stream-start', warnings: [] }, ...answerTo(prompt)];
    return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: PAUSE_MS }) };
  }

  async doGenerate(): Promise<never> {
    throw new Error('The scripted model only streams.');
  }
}

function answerTo(prompt: LanguageModelV3Prompt): LanguageModelV3StreamPart[] {
  const last = prompt.at(-1);
  if (last?.role === 'tool') {
    const [result] = last.content;
    return said(
      result?.type === 'tool-result' && result.output.type === 'json' ? told(result.output.value) : HELP,
    );
  }
  const number = last?.role === 'user' ? numberIn(last.content) : undefined;
  return number === undefined ? said(HELP) : called({ number });
}

function numberIn(content: { type: string; text?: string }[]): string | undefined {
  const [number] = content.flatMap(({ text }) => /\d+/.exec(text ?? '') ?? []);
  return number;
}

function told(found: unknown): string {
  const { fault, number, city, status } = found as Record<string, string | undefined>;
  return fault ?? `Order **${number}** to ${city} is *${status}*.`;
}

function said(text: string): LanguageModelV3StreamPart[] {
  const words = text.split(/(?<=\s)/).map((delta) => ({ type: 'text-delta' as const, id: '0', delta }));
  return [{ type: 'text-start', id: '0' }, ...words, { type: 'text-end', id: '0' }, finish('stop')];
}

function called(input: object): LanguageModelV3StreamPart[] {
  const toolCallId = crypto.randomUUID();
  return [
    { type: 'tool-call', toolCallId, toolName: 'findOrder', input: JSON.stringify(input) },
    finish('tool-calls'),
  ];
}

function finish(unified: 'stop' | 'tool-calls'): LanguageModelV3StreamPart {
  return { type: 'finish', finishReason: { unified, raw: undefined }, usage: UNKNOWN_USAGE };
}
