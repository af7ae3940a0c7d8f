import { type FieldError, QueryError } from 'nest-agent-query';
import {
  isInRange,
  MODEL_NUMBERS,
  type ModelInputKind,
  type ModelKwarg,
  type Range,
  rangeText,
  refuseUnknown,
  TEMPERATURES,
} from 'nest-agent-query/agents';
import { type CallerTool, faultsOfTools } from './caller-tools.js';
import { isProviderName } from './provider-package.js';
import { checkMcpServers, type McpServerOptions } from './mcp-options.js';

/** Which model answers, what it is told, and within which limits. */
export interface ModelOptions {
  /**
   * The provider package of the AI SDK that speaks to the endpoint: `anthropic` is `@ai-sdk/anthropic`. It must be installed. 1 to
   * 64 of a-z, 0-9 and `-`. Default: none, the endpoint has the interface of OpenAI's chat completions.
   */
  provider?: string | undefined;
  /**
   * Where the endpoint is. It begins with `https:` or `http:`. Requests are sent to `{baseUrl}/chat/completions`, or to where the
   * provider puts them. Default: that of the provider; without one, it is required.
   */
  baseUrl?: string | undefined;
  /** The name of the model, as the endpoint has it. */
  model: string;
  /** The credential for the endpoint. Default: none, or the variable from which the package of the provider reads one. */
  apiKey?: string | undefined;
  /** What the model is told before the conversation. Default: nothing. */
  instructions?: string | undefined;
  /** From 0 to 2. Default: that of the endpoint. */
  temperature?: number | undefined;
  /** The most tokens of one step of an answer. Default: what the endpoint allows. */
  maxOutputTokens?: number | undefined;
  /** Which of the options above a caller may override by kwargs, and whether it may bring `tools` that it executes. Default: none. */
  kwargs?: readonly ModelKwarg[];
  /**
   * How many tokens the model can take, by an estimate: the oldest turns of a session are left out beyond that. Leave room for
   * the tools and the answer. Default: no limit.
   */
  contextTokens?: number | undefined;
  /** The kinds of files that the model takes as they are. Any other file becomes a text. Default: none. */
  inputs?: readonly ModelInputKind[];
  /** The MCP servers whose tools the model may call, by their names. Default: none. */
  mcpServers?: Record<string, McpServerOptions>;
  /** How often the model may be asked for one answer, from 1 to 1,000; default 20. */
  maxSteps?: number | undefined;
  /** How often a request is sent again that has failed before its first token, from 0 to 10; default 2. */
  retries?: number | undefined;
  /** Milliseconds for which the endpoint may be silent, from 100 to 3,600,000; default 300,000. */
  silenceMs?: number | undefined;
}

/** What one query is answered with. */
export interface ModelCall {
  model: string;
  instructions: string | undefined;
  temperature: number | undefined;
  maxOutputTokens: number | undefined;
  /** The tools that the caller executes. */
  tools: readonly CallerTool[];
}

/** The options with their defaults. */
export interface ModelSettings extends Omit<ModelCall, 'tools'> {
  provider: string | undefined;
  baseUrl: string | undefined;
  apiKey: string | undefined;
  kwargs: readonly ModelKwarg[];
  contextTokens: number;
  inputs: readonly ModelInputKind[];
  mcpServers: Record<string, McpServerOptions>;
  maxSteps: number;
  retries: number;
  silenceMs: number;
}

const MEMBERS: Record<keyof ModelOptions, true> = {
  provider: true,
  baseUrl: true,
  model: true,
  apiKey: true,
  instructions: true,
  temperature: true,
  maxOutputTokens: true,
  kwargs: true,
  contextTokens: true,
  inputs: true,
  mcpServers: true,
  maxSteps: true,
  retries: true,
  silenceMs: true,
};

/** The most characters of instructions that a caller sends. */
const INSTRUCTIONS_LENGTH = 64 * 1024;

/** @throws {TypeError} an option is not valid or unknown · {RangeError} a number is out of its range */
export function modelSettings(options: ModelOptions): ModelSettings {
  refuseUnknown('modelHandler', options, MEMBERS);
  const { provider, baseUrl, model, apiKey, instructions, temperature, maxOutputTokens, contextTokens } =
    options;
  if (provider !== undefined && !isProviderName(provider))
    throw new TypeError(
      `ModelOptions.provider is ${JSON.stringify(provider)}; it must be a name such as "anthropic", of a-z, 0-9 and -.`,
    );
  if (!isAddress(baseUrl) && !(baseUrl === undefined && provider !== undefined))
    throw new TypeError('ModelOptions.baseUrl must begin with https: or http:.');
  if (typeof model !== 'string' || model === '')
    throw new TypeError('ModelOptions.model must be a name that is not empty.');
  if (temperature !== undefined && !isNumberIn(temperature, TEMPERATURES))
    throw new RangeError(`ModelOptions.temperature must be a number from 0 to 2.`);
  for (const [name, { range }] of Object.entries(MODEL_NUMBERS)) {
    const value = options[name as keyof typeof MODEL_NUMBERS];
    if (value === undefined || isInRange(value, range)) continue;
    throw new RangeError(`ModelOptions.${name} is ${value}; it must be ${rangeText(range)}.`);
  }
  const mcpServers = options.mcpServers ?? {};
  checkMcpServers(mcpServers);
  return {
    provider,
    baseUrl,
    model,
    apiKey,
    instructions,
    temperature,
    maxOutputTokens,
    kwargs: options.kwargs ?? [],
    contextTokens: contextTokens ?? Infinity,
    inputs: options.inputs ?? [],
    mcpServers,
    maxSteps: options.maxSteps ?? MODEL_NUMBERS.maxSteps.value,
    retries: options.retries ?? MODEL_NUMBERS.retries.value,
    silenceMs: options.silenceMs ?? MODEL_NUMBERS.silenceMs.value,
  };
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** A rule for a kwarg: the rest of a sentence, and whether a value keeps it. */
const RULES: Record<Exclude<ModelKwarg, 'tools'>, [rule: string, is: (value: unknown) => boolean]> = {
  model: ['must be a name of 1 to 200 characters', (value) => isText(value, 200) && value !== ''],
  instructions: [
    `must be a text of at most ${INSTRUCTIONS_LENGTH} characters`,
    (value) => isText(value, INSTRUCTIONS_LENGTH),
  ],
  temperature: ['must be a number from 0 to 2', (value) => isNumberIn(value, TEMPERATURES)],
  max_output_tokens: [
    `must be ${rangeText(MODEL_NUMBERS.maxOutputTokens.range)}`,
    (value) => isInRange(value, MODEL_NUMBERS.maxOutputTokens.range),
  ],
};

/**
 * What a query is answered with. Kwargs that the operator has not named are left alone: they may mean something to others.
 *
 * @throws {QueryError} `invalid_query`: a kwarg is not valid
 */
export function callFor(settings: ModelSettings, kwargs: Record<string, unknown>): ModelCall {
  const given = settings.kwargs.filter((name) => Object.hasOwn(kwargs, name) && kwargs[name] !== null);
  const errors = given.flatMap((name) => faultsOf(name, kwargs[name]));
  if (errors.length > 0) {
    const faults = errors.map(({ pointer, detail }) => `${pointer.slice(1).replaceAll('/', '.')} ${detail}`);
    throw new QueryError('invalid_query', `${faults.join('; ')}.`, { errors });
  }
  const valueOf = (name: ModelKwarg) => (given.includes(name) ? kwargs[name] : undefined);
  return {
    model: (valueOf('model') as string | undefined) ?? settings.model,
    instructions: (valueOf('instructions') as string | undefined) ?? settings.instructions,
    temperature: (valueOf('temperature') as number | undefined) ?? settings.temperature,
    maxOutputTokens: (valueOf('max_output_tokens') as number | undefined) ?? settings.maxOutputTokens,
    tools: (valueOf('tools') as CallerTool[] | undefined) ?? [],
  };
}

function faultsOf(name: ModelKwarg, value: unknown): FieldError[] {
  if (name === 'tools') return faultsOfTools(value);
  const [detail, isValid] = RULES[name];
  return isValid(value) ? [] : [{ pointer: `/kwargs/${name}`, detail }];
}

function isText(value: unknown, length: number): boolean {
  return typeof value === 'string' && value.length <= length;
}

function isNumberIn(value: unknown, [least, most]: Range): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}
