import type { FileDiff, FileLocation, PlanEntry } from 'nest-agent-query-client';

type Members = Record<string, unknown>;

/** The files that a call is about. The service does not check them: what is none is left out. */
export function filesOf(data: { diffs?: unknown; locations?: unknown }): {
  diffs?: FileDiff[];
  places?: string[];
} {
  const diffs = diffsOf(data.diffs);
  const places = placesOf(data.locations);
  return { ...(diffs.length > 0 && { diffs }), ...(places.length > 0 && { places }) };
}

function diffsOf(value: unknown): FileDiff[] {
  return objectsIn(value).flatMap(({ path, oldText, newText, truncated }) => {
    if (typeof path !== 'string' || typeof newText !== 'string') return [];
    const before = typeof oldText === 'string' ? oldText : null;
    return [{ path, oldText: before, newText, truncated: truncated === true }];
  });
}

/** The places that a call is about, each once, as people write them. */
function placesOf(value: unknown): string[] {
  const locations = objectsIn(value) as Partial<FileLocation>[];
  const places = locations.flatMap(({ path, line }) => {
    if (typeof path !== 'string') return [];
    return [typeof line === 'number' ? `${path}:${line}` : path];
  });
  return [...new Set(places)];
}

/** The entries of a plan; undefined if the data is no plan. */
export function planOf(data: unknown): PlanEntry[] | undefined {
  const { entries } = (data ?? {}) as Members;
  if (!Array.isArray(entries)) return undefined;
  return (objectsIn(entries) as Partial<PlanEntry>[]).flatMap(({ content, status }) =>
    typeof content === 'string' ? [{ content, status: String(status) }] : [],
  );
}

/** The command in the arguments of a call; undefined if there is none. */
export function commandOf(given: unknown): string | undefined {
  const { command, cmd } = (given ?? {}) as Members;
  const told = command ?? cmd;
  if (Array.isArray(told)) return told.map(String).join(' ');
  return typeof told === 'string' ? told : undefined;
}

/** What a command has written, and what else its result says. */
export function outputOf(content: unknown): { text: string; rest: Members } | undefined {
  if (typeof content !== 'object' || content === null) return undefined;
  const { output, stdout, stderr, ...rest } = content as Members;
  const texts = [output, stdout, stderr].filter((each) => typeof each === 'string');
  return texts.length === 0 ? undefined : { text: texts.join('\n'), rest };
}

function objectsIn(value: unknown): Members[] {
  if (!Array.isArray(value)) return [];
  return value.filter((each) => typeof each === 'object' && each !== null) as Members[];
}
