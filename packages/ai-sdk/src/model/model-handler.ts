import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { jsonSchema, stepCountIs, tool, type ToolSet } from 'ai';
import {
  AgentHandler,
  type Envelope,
  type FilePart,
  type HandlerAnswer,
  isTextFile,
  log,
  type Query,
  type QueryContext,
} from 'nest-agent-query';
import { aiSdkSettings } from '../ai-sdk-options.js';
import { AiSdkRun } from '../ai-sdk-run.js';
import type { FilesHandler } from 'nest-agent-query-files';
import { estimateTextTokens, type ModelInput, plainTextOf } from 'nest-agent-query-adapters';
import { callerTools } from './caller-tools.js';
import { Endpoint } from './endpoint.js';
import { cutResult, McpTools } from './mcp-tools.js';
import { callFor, type ModelOptions, type ModelSettings, modelSettings } from './model-options.js';

/** How often a run continues after its process was lost. A query that ends its process must not do so for ever. */
const RESTARTS = 3;

/** A larger text is read by a process of the agent `files`, which shows its beginning. */
const TEXT_BYTES = 1024 * 1024;

/** The media types that endpoints of this kind take, of each kind of files. */
const TYPES_OF_INPUT: Record<ModelSettings['inputs'][number], ModelInput[]> = {
  image: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  pdf: ['pdf'],
  audio: ['audio/wav', 'audio/mpeg', 'audio/mp3'],
};

/**
 * Answers queries with a model. `modelHandler` makes it.
 *
 * @example
 * QueryModule.forRoot({ handler, admit: (query) => handler.check(query) });
 */
export class ModelHandler extends AgentHandler implements OnApplicationShutdown {
  override readonly restarts = RESTARTS;
  readonly #endpoint: Endpoint;
  readonly #mcp: McpTools;
  /** Undefined until a file needs it; null if its package is not installed. */
  #files: Promise<FilesHandler | null> | undefined;

  constructor(
    private readonly settings: ModelSettings,
    environment: Record<string, string | undefined>,
  ) {
    super();
    this.#endpoint = new Endpoint(settings);
    this.#mcp = new McpTools(settings.mcpServers, environment);
  }

  /**
   * Checks the kwargs of a query before it becomes a run: for the option `admit` of the module.
   *
   * @throws {QueryError} `invalid_query`
   */
  check({ kwargs }: Pick<Query, 'kwargs'>): void {
    callFor(this.settings, kwargs);
  }

  override async handle(query: Query, context: QueryContext): Promise<HandlerAnswer> {
    const { inputs, contextTokens, maxSteps, retries } = this.settings;
    const { model, instructions, temperature, maxOutputTokens, tools } = callFor(this.settings, query.kwargs);
    const { tools: mcpTools, missing } = await Promise.race([this.#mcp.available(), aborted(context.signal)]);
    const own = { ...(await this.#toolOfFiles(query, context)), ...mcpTools };
    const told = estimateTextTokens(instructions ?? '');
    const source = {
      model: this.#endpoint.model(model),
      tools: { ...own, ...callerTools(tools, own) },
      stopWhen: stepCountIs(maxSteps),
      maxRetries: retries,
      ...(instructions !== undefined && { instructions }),
      ...(temperature !== undefined && { temperature }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    };
    const options = aiSdkSettings(source, {
      inputs: inputs.flatMap((input) => TYPES_OF_INPUT[input]),
      contextTokens: Math.max(1, contextTokens - told),
      textOfFile: (part) => this.#textOf(part, context),
      restarts: RESTARTS,
    });
    // DeepSeek refuses calls of earlier turns without the reasoning that came with them. Others want it signed, which it is no more.
    const showsReasoning = this.settings.provider === undefined;
    const run = new AiSdkRun(source, { ...options, showsReasoning }, context);
    const answer = run.envelopes(query);
    return missing.length === 0 ? answer : withLogs(missing, answer);
  }

  /** The requests of the agent `files`, where there are files. A model that may take one step only has no use for it. */
  async #toolOfFiles({ parts }: Query, context: QueryContext): Promise<ToolSet> {
    const sent = [...parts, ...context.history.flatMap((turn) => turn.parts)];
    if (this.settings.maxSteps === 1 || !sent.some(({ type }) => type === 'file')) return {};
    const files = await (this.#files ??= filesHandler());
    if (!files) return {};
    return {
      request_files: tool({
        description: `Reads the files of the conversation. ${files.requests}`,
        inputSchema: jsonSchema<{ request: string }>({
          type: 'object',
          properties: { request: { type: 'string' } },
          required: ['request'],
        }),
        execute: async ({ request }) => cutResult(await files.answerTo(String(request), parts, context)),
      }),
    };
  }

  /** Called by Nest once all runs have ended. */
  async onApplicationShutdown(): Promise<void> {
    const files = await this.#files;
    await Promise.all([this.#mcp.close(), files?.onApplicationShutdown()]);
  }

  async #textOf(part: FilePart, context: QueryContext): Promise<string> {
    const isShort = part.file.size <= TEXT_BYTES && (await isTextFile(part));
    const files = isShort ? null : await (this.#files ??= filesHandler());
    return files ? files.textOf(part, context) : plainTextOf(part);
  }
}

/**
 * Makes a handler that asks a model at an endpoint with the interface of OpenAI's chat completions: OpenAI, vLLM, Ollama,
 * llama.cpp, LiteLLM and others. With `provider`, it asks one that a provider package of the AI SDK knows: Anthropic, Google,
 * Mistral and others.
 *
 * The model gets the parts of the query and the earlier turns of the session, and may call the tools of MCP servers, and those that
 * a caller brings (`kwargs.tools`) and executes. After each step there is a checkpoint, from which the run continues if its process
 * is lost.
 *
 * @param options which model answers
 * @param environment variables of which MCP servers that are programs get `HOME`, `PATH` and the like. Default: none
 * @throws {TypeError} an option is not valid, or the package of the provider is not installed or does not fit · {RangeError} a
 * number is out of its range
 *
 * @example
 * QueryModule.forRoot({ handler: modelHandler({ baseUrl: 'http://127.0.0.1:11434/v1', model: 'llama3.2' }) });
 */
export function modelHandler(
  options: ModelOptions,
  environment: Record<string, string | undefined> = {},
): ModelHandler {
  return new ModelHandler(modelSettings(options), environment);
}

/** What reads files that are no short texts; null if its package, which is optional, is not installed. */
async function filesHandler(): Promise<FilesHandler | null> {
  try {
    const { FilesHandler: Reader } = await import('nest-agent-query-files');
    return new Reader();
  } catch (error) {
    // Without `ERR_` where a host's Jest compiles to CommonJS.
    if (!/MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException).code))) throw error;
    new Logger('Model').warn(
      'To show models what is in such files as tables, run npm install nest-agent-query-files.',
    );
    return null;
  }
}

async function* withLogs(missing: string[], answer: AsyncIterable<Envelope>): AsyncGenerator<Envelope> {
  yield log(`The tools of ${missing.join(' and ')} are not available`);
  yield* answer;
}

/** Rejects when a run must stop. */
async function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
}
