import { jsonSchema, tool, type ToolSet } from 'ai';
import { type FieldError, QueryError } from 'nest-agent-query';

/** A tool that the caller executes, as `kwargs.tools` has it. */
export interface CallerTool {
  /** 1 to 64 characters: `A` to `Z`, `a` to `z`, `0` to `9`, `_` and `-`. */
  name: string;
  description?: string;
  /** A JSON Schema of an object. It is given to the model as it is; whether arguments keep it, is for the caller to check. */
  inputSchema: Record<string, unknown>;
}

/** The most tools that a caller brings, and the most characters of JSON that they have together. */
const TOOLS = 64;
const JSON_LENGTH = 64 * 1024;

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** What is wrong with `kwargs.tools`. */
export function faultsOfTools(value: unknown): FieldError[] {
  const fault = (detail: string, pointer = '') => ({ pointer: `/kwargs/tools${pointer}`, detail });
  if (!Array.isArray(value) || value.length > TOOLS)
    return [fault(`must be an array of at most ${TOOLS} tools`)];
  if (JSON.stringify(value).length > JSON_LENGTH)
    return [fault(`must have at most ${JSON_LENGTH} characters of JSON`)];
  const names = value.map((each) => (each as Partial<CallerTool> | null)?.name);
  return value.flatMap((each: Partial<CallerTool> | null, index) => {
    if (!isObject(each)) return [fault('must be an object', `/${index}`)];
    const { name, description, inputSchema } = each;
    const faults: FieldError[] = [];
    if (typeof name !== 'string' || !NAME.test(name))
      faults.push(fault('must have 1 to 64 characters of A-Z, a-z, 0-9, _ and -', `/${index}/name`));
    else if (names.indexOf(name) < index)
      faults.push(fault('must be another than those before', `/${index}/name`));
    if (description !== undefined && typeof description !== 'string')
      faults.push(fault('must be a string', `/${index}/description`));
    if (!isObject(inputSchema) || inputSchema['type'] !== 'object')
      faults.push(fault('must be a JSON Schema with the type "object"', `/${index}/inputSchema`));
    return faults;
  });
}

/**
 * The tools of a caller for the model, which the SDK leaves to others to execute.
 *
 * @param own the tools of the agent
 * @throws {QueryError} `invalid_query`: the agent has a tool of the same name
 */
export function callerTools(tools: readonly CallerTool[], own: ToolSet): ToolSet {
  const taken = tools.findIndex(({ name }) => Object.hasOwn(own, name));
  if (taken >= 0) {
    const pointer = `/kwargs/tools/${taken}/name`;
    const detail = `must be another name: the agent has a tool ${JSON.stringify(tools[taken]!.name)} itself`;
    throw new QueryError('invalid_query', `kwargs.tools.${taken}.name ${detail}.`, {
      errors: [{ pointer, detail }],
    });
  }
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      tool({ ...(description !== undefined && { description }), inputSchema: jsonSchema(inputSchema) }),
    ]),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
