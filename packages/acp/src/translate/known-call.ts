import { callId, shownResult, withoutFolder } from 'nest-agent-query-adapters';
import { diffsOf, locationsOf, type ShownDiff, type ShownLocation } from './diffs.js';
import { itemsOf, membersOf, textIn } from './members.js';

/** What is known of a call of the agent, merged of all that the agent has sent of it. */
export interface KnownCall {
  /** Of its envelopes: unique in the run, at most 200 characters. */
  readonly id: string;
  name: string;
  title: string | undefined;
  kind: string | undefined;
  rawInput: unknown;
  rawOutput: unknown;
  content: unknown;
  locations: unknown;
  status: string | undefined;
  /** Whether callers have its `tool_call`. */
  isTold: boolean;
  /** Whether callers have its `tool_result`. */
  isOver: boolean;
  /** Why it was refused, if a person or the service has refused it. */
  refusal: string | undefined;
}

/** The members of a `tool_call` and a `tool_result` that say what a call does to files. */
export interface CallFiles {
  diffs?: ShownDiff[];
  locations?: ShownLocation[];
}

const TITLE_LENGTH = 1_000;
const NAME_LENGTH = 100;
const ID_LENGTH = 180;
const CONTENTS = 1_000;
const NO_TOOL_NAME = 'tool';

export function newCall(id: string): KnownCall {
  return {
    id,
    name: NO_TOOL_NAME,
    title: undefined,
    kind: undefined,
    rawInput: undefined,
    rawOutput: undefined,
    content: undefined,
    locations: undefined,
    status: undefined,
    isTold: false,
    isOver: false,
    refusal: undefined,
  };
}

/** An id that envelopes and questions can have. Agents may send any text. */
export function shownId(id: string): string {
  return id.length <= ID_LENGTH && !/[\p{Cc}\p{Cs}]/u.test(id) ? id : callId('', id);
}

/** Adds what an update, or a permission request, says. What it does not say stays. */
export function mergeCall(call: KnownCall, update: Record<string, unknown>, cwd: string): void {
  const { title, kind, status, rawInput, rawOutput, content, locations } = update;
  const shownTitle = textIn(title);
  if (shownTitle !== undefined) call.title = withoutFolder(shownTitle, cwd).slice(0, TITLE_LENGTH);
  call.kind = textIn(kind)?.slice(0, NAME_LENGTH) ?? call.kind;
  call.status = textIn(status) ?? call.status;
  call.rawInput = mergedInput(call.rawInput, rawInput);
  call.rawOutput = rawOutput ?? call.rawOutput;
  if (Array.isArray(content) && (content.length > 0 || call.content === undefined)) call.content = content;
  if (Array.isArray(locations) && locations.length > 0) call.locations = locations;
  const name = (textIn(update['name']) ?? toolNameOf(update['_meta']))?.slice(0, NAME_LENGTH);
  if (name !== undefined) call.name = name;
  else if (call.name === NO_TOOL_NAME) call.name = call.kind ?? call.name;
}

/** The diffs and locations of a call; those that it does not have are absent. */
export function filesOfCall({ content, locations }: KnownCall, cwd: string): CallFiles {
  const diffs = diffsOf(content, cwd);
  const places = locationsOf(locations, cwd);
  return { ...(diffs.length > 0 && { diffs }), ...(places.length > 0 && { locations: places }) };
}

/** What callers read as the arguments of a call. */
export function argumentsOf({ rawInput }: KnownCall): unknown {
  return rawInput === undefined ? {} : shownResult(rawInput);
}

/** What callers read as the result of a call that the agent has ended. */
export function resultOf({ content, rawOutput }: KnownCall): unknown {
  // Codex has the whole output three times in its event, and names of its own process.
  const output = textIn(membersOf(rawOutput)['formatted_output']) ?? rawOutput;
  return shownResult(output ?? textOfContents(content));
}

function textOfContents(content: unknown): string {
  const texts = itemsOf(content, CONTENTS).map((item) => {
    const block = membersOf(membersOf(item)['content']);
    return textIn(block['text']) ?? textIn(membersOf(block['resource'])['text']);
  });
  return texts.filter((text) => text !== undefined).join('\n');
}

/** Some agents have other members in the permission request than in the call, and `{}` before they know the arguments. */
function mergedInput(known: unknown, told: unknown): unknown {
  if (told === undefined || told === null) return known;
  if (!isObject(told) || !isObject(known)) return isEmptyObject(told) ? (known ?? told) : told;
  return { ...known, ...told };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

/** The name that agents put into a member of their own. */
function toolNameOf(meta: unknown): string | undefined {
  const own = membersOf(meta);
  const places = [own, ...Object.values(own).map(membersOf)];
  return places.map(({ toolName }) => textIn(toolName)).find((name) => name !== undefined);
}
