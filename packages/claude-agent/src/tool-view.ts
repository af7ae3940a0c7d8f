import { shownPath } from 'nest-agent-query-adapters';

/** The most characters of a text of a diff. */
const TEXT_LENGTH = 64 * 1024;

const KINDS: Record<string, string> = {
  Bash: 'execute',
  Edit: 'edit',
  Write: 'edit',
  NotebookEdit: 'edit',
  Read: 'read',
  Glob: 'search',
  Grep: 'search',
  WebFetch: 'fetch',
  WebSearch: 'fetch',
};

/**
 * What a call of a tool of Claude Code does, as pages show it: its kind, its files and its changes.
 *
 * @param cwd the working directory: paths in it are shown relative to it
 */
export function toolView(name: string, input: unknown, cwd: string): Record<string, unknown> {
  const kind = KINDS[name];
  if (kind === undefined) return {};
  const { file_path: given, old_string: oldText, new_string: newText, content } = objectOf(input);
  if (typeof given !== 'string') return { kind };
  const path = shownPath(given, cwd);
  const view = { kind, locations: [{ path }] };
  if (name === 'Edit') return { ...view, diffs: [diffOf(path, oldText, newText)] };
  if (name === 'Write') return { ...view, diffs: [diffOf(path, null, content)] };
  return view;
}

export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function diffOf(path: string, before: unknown, after: unknown): Record<string, unknown> {
  const texts = [before, after].map((text) => (typeof text === 'string' ? text : null));
  const [oldText, newText] = texts.map((text) => text?.slice(0, TEXT_LENGTH) ?? null);
  const isCut = texts.some((text) => text !== null && text.length > TEXT_LENGTH);
  return { path, oldText, newText: newText ?? '', ...(isCut && { truncated: true }) };
}
