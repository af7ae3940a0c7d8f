import { isObject } from '../../view/json.js';
import type { GivenAnswer } from '../asking/asked-calls.js';
import { invalidRequest } from '../refusals.js';
import { contentOf } from '../request/content.js';
import { roleOf, type SentMessage } from '../request/conversation.js';
import { textOf } from '../request/members.js';

type Members = Record<string, unknown>;

/** The response that an item belongs to, as its id says it. */
export interface ItemOrigin {
  runId: string;
  /** To the id, as a JSON Pointer. */
  pointer: string;
  /** The request has the id instead of the item, which must be known then. */
  isReference: boolean;
}

/** An item of the input: a message, or what stands for one of the assistant. */
export interface InputItem extends SentMessage {
  /** Undefined: its id, if there is one, is none that a response has. */
  origin?: ItemOrigin | undefined;
}

/** The input of a request. */
export interface Input {
  items: InputItem[];
  /** What answers calls and approvals, after the last message of the user or the assistant. */
  answers: GivenAnswer[];
}

/** What an agent has done. The member that names the call: its id has the id of the run, too. */
const DONE: Record<string, 'call_id' | 'approval_request_id' | undefined> = {
  apply_patch_call: undefined,
  code_interpreter_call: undefined,
  compaction: undefined,
  computer_call: undefined,
  custom_tool_call: undefined,
  file_search_call: undefined,
  function_call: 'call_id',
  function_call_output: 'call_id',
  image_generation_call: undefined,
  local_shell_call: undefined,
  mcp_approval_request: undefined,
  mcp_approval_response: 'approval_request_id',
  mcp_call: undefined,
  mcp_list_tools: undefined,
  program: undefined,
  reasoning: undefined,
  shell_call: undefined,
  tool_search_call: undefined,
  web_search_call: undefined,
};

/** Results of calls that no response of this service has: only items of an earlier conversation. */
const FOREIGN_RESULTS = [
  'apply_patch_call_output',
  'computer_call_output',
  'custom_tool_call_output',
  'local_shell_call_output',
  'program_output',
  'shell_call_output',
  'tool_search_output',
];

/** What ids of items and of calls have in common: a prefix, the id of the run, and the name of the item in it. */
const ID = /^(?:msg|rs|mcp|mcpr|fc|call)_([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})_./s;

/** @throws {QueryError} `invalid_query` */
export function inputOf(input: unknown): Input {
  if (typeof input === 'string')
    return { items: [{ role: 'user', parts: contentOf(input, '/input') }], answers: [] };
  if (!Array.isArray(input)) throw invalidRequest('/input', 'must be a string or an array of items');
  const read = (input as unknown[]).map((item, index) => itemOf(item, `/input/${index}`));
  const given = read.slice(read.findLastIndex(({ isSaid }) => isSaid) + 1);
  const unexpected = given.find(({ isForeign }) => isForeign);
  if (unexpected)
    throw invalidRequest(
      `${unexpected.pointer}/type`,
      'is not the type of a result that this agent asks for',
    );
  return {
    items: read.map(({ item }) => item),
    answers: given.flatMap(({ answer }) => answer ?? []),
  };
}

/** That an id names nothing that the caller has, whoever else may have it. */
export function unknownItem(pointer: string): Error {
  return invalidRequest(
    pointer,
    'is the id of no item of your responses, or of one that is no longer kept: send the item itself, with "store": false',
  );
}

interface ReadItem {
  item: InputItem;
  pointer: string;
  /** Whether it is a message of the user or the assistant. */
  isSaid?: boolean;
  isForeign?: boolean;
  answer?: GivenAnswer;
}

function itemOf(item: unknown, pointer: string): ReadItem {
  if (!isObject(item)) throw invalidRequest(pointer, 'must be an object');
  const type = item['type'] ?? ((item['role'] ?? undefined) === undefined ? 'item_reference' : 'message');
  if (type === 'message') return messageOf(item, pointer);
  if (type === 'item_reference') return { item: { ...PAST, origin: referenced(item, pointer) }, pointer };
  const isForeign = FOREIGN_RESULTS.includes(type as string);
  if (typeof type !== 'string' || !(isForeign || Object.hasOwn(DONE, type)))
    throw invalidRequest(`${pointer}/type`, 'is not the type of an item that this service takes');
  const origin = originOf(item, 'id', pointer) ?? originOf(item, DONE[type], pointer);
  const answer = ANSWERS[type]?.(item, pointer);
  return { item: { ...PAST, origin }, pointer, isForeign, ...(answer && { answer }) };
}

/** What an agent has done tells no text. */
const PAST = { role: 'assistant', parts: [] } satisfies InputItem;

function messageOf(item: Members, pointer: string): ReadItem {
  const role = roleOf(item['role'], pointer);
  const parts = contentOf(item['content'], `${pointer}/content`);
  // The id of a question ends nothing.
  const origin = role === 'assistant' ? originOf(item, 'id', pointer) : undefined;
  return { item: { role, parts, origin }, pointer, isSaid: role !== 'instructions' };
}

function referenced(item: Members, pointer: string): ItemOrigin {
  const id = textOf(item, 'id', pointer);
  if (id === undefined) throw invalidRequest(`${pointer}/id`, 'must be present');
  const origin = originOf(item, 'id', pointer);
  if (!origin) throw unknownItem(`${pointer}/id`);
  return { ...origin, isReference: true };
}

/** Clients also send items that they have from elsewhere. */
function originOf(item: Members, name: string | undefined, pointer: string): ItemOrigin | undefined {
  const value = name === undefined ? undefined : item[name];
  const [, runId] = (typeof value === 'string' && ID.exec(value)) || [];
  return runId === undefined ? undefined : { runId, pointer: `${pointer}/${name}`, isReference: false };
}

const ANSWERS: Record<string, (item: Members, pointer: string) => GivenAnswer> = {
  function_call_output: outputOf,
  mcp_approval_response: approvalOf,
};

function outputOf(item: Members, pointer: string): GivenAnswer {
  const id = textOf(item, 'call_id', pointer);
  if (id === undefined) throw invalidRequest(`${pointer}/call_id`, 'must be present');
  const { output } = item;
  if (output === undefined) throw invalidRequest(`${pointer}/output`, 'must be present');
  return { id, output, pointer: `${pointer}/call_id` };
}

function approvalOf(item: Members, pointer: string): GivenAnswer {
  const id = textOf(item, 'approval_request_id', pointer);
  if (id === undefined) throw invalidRequest(`${pointer}/approval_request_id`, 'must be present');
  const { approve } = item;
  if (typeof approve !== 'boolean') throw invalidRequest(`${pointer}/approve`, 'must be true or false');
  const reason = textOf(item, 'reason', pointer);
  const approval = { approved: approve, ...(reason !== undefined && { reason }) };
  return { id, approval, pointer: `${pointer}/approval_request_id` };
}
