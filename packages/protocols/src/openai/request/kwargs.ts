import { isObject } from '../../view/json.js';
import { isAskingFunction } from '../asking/asked-calls.js';
import { invalidRequest } from '../refusals.js';

type Members = Record<string, unknown>;

/** Members that handlers get under their names. */
const PASSED = ['temperature', 'top_p', 'tool_choice', 'parallel_tool_calls', 'reasoning', 'seed', 'stop'];

/** What the members of a request say, where both protocols do not have the same names. */
export interface ModelMembers {
  instructions: string[];
  maxOutputTokens: unknown;
  /** `text.format`, or `response_format`. */
  format: unknown;
  /** Reads a tool, which has the type `function`. */
  functionOf: (tool: Members) => unknown;
}

/**
 * The kwargs of a query: what a request says to a model, as the agent `model` reads it, and the member `kwargs` unchanged.
 *
 * @param model the name of the agent: whoever asks for it does not choose a model
 * @throws {QueryError} `invalid_query`
 */
export function kwargsOf(body: Members, { instructions, ...others }: ModelMembers, model: string): Members {
  const kwargs = body['kwargs'] ?? {};
  if (!isObject(kwargs)) throw invalidRequest('/kwargs', 'must be an object');
  const told = instructions.filter((text) => text !== '').join('\n\n');
  const tools = toolsOf(body['tools'], others.functionOf);
  checkChoice(body['tool_choice']);
  const members = {
    ...Object.fromEntries(PASSED.map((name) => [name, body[name]])),
    model: body['model'] === model ? undefined : body['model'],
    instructions: told || undefined,
    max_output_tokens: others.maxOutputTokens,
    tools: tools.length > 0 ? tools : undefined,
    response_format: isStructured(others.format) ? others.format : undefined,
  };
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null);
  return { ...Object.fromEntries(given), ...kwargs };
}

/** Whether a format asks for JSON. */
export function isStructured(format: unknown): boolean {
  return isObject(format) && format['type'] !== undefined && format['type'] !== 'text';
}

/** The names of the functions that a request has. */
export function functionNames(body: Members, functionOf: ModelMembers['functionOf']): string[] {
  const tools: unknown[] = Array.isArray(body['tools']) ? body['tools'] : [];
  const functions = tools.filter(isObject).map(functionOf).filter(isObject);
  return functions.map(({ name }) => String(name));
}

/** The choice of a tool that the agent is not given would end in another answer than the one that is wanted. */
function checkChoice(choice: unknown): void {
  if (!isObject(choice) || choice['type'] === 'function' || choice['type'] === 'allowed_tools') return;
  throw invalidRequest(
    '/tool_choice/type',
    'must be "function": the agent takes no other tools of a request',
  );
}

function toolsOf(tools: unknown, functionOf: ModelMembers['functionOf']): unknown[] {
  if (tools === undefined || tools === null) return [];
  if (!Array.isArray(tools)) throw invalidRequest('/tools', 'must be an array');
  return tools.flatMap((tool: unknown, index) => {
    const at = `/tools/${index}`;
    if (!isObject(tool)) throw invalidRequest(at, 'must be an object');
    // Programs offer what only OpenAI executes, such as a web search, without being told to.
    if (tool['type'] !== 'function') return [];
    const named = functionOf(tool);
    if (!isObject(named)) throw invalidRequest(`${at}/function`, 'must be an object');
    const { name, description, parameters } = named;
    if (typeof name === 'string' && isAskingFunction(name)) return [];
    const inputSchema = parameters ?? { type: 'object', properties: {} };
    return [{ name, ...(typeof description === 'string' && { description }), inputSchema }];
  });
}
