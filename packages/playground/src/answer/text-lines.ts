/** A line of a change, or how many lines that did not change are left out. */
export type ChangedLine =
  { kind: 'same' | 'added' | 'removed'; text: string } | { kind: 'left-out'; count: number };

/** So many lines that did not change are shown beside a change. */
const CONTEXT = 3;
/** Of larger texts, all old lines are shown as removed and all new ones as added. */
const CELLS = 250_000;

/** The lines that were removed and added between two texts, in their order, and a few around them. */
export function changedLines(oldText: string | null, newText: string): ChangedLine[] {
  const before = linesOf(oldText ?? '');
  const after = linesOf(newText);
  const least = Math.min(before.length, after.length);
  let head = 0;
  while (head < least && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < least - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return [
    ...around(before.slice(0, head), 'before'),
    ...between(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...around(before.slice(before.length - tail), 'after'),
  ];
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  return text.replace(/\n$/, '').split('\n');
}

/** The lines next to a change. */
function around(lines: string[], place: 'before' | 'after'): ChangedLine[] {
  const shown = place === 'before' ? lines.slice(-CONTEXT) : lines.slice(0, CONTEXT);
  const count = lines.length - shown.length;
  const leftOut: ChangedLine[] = count === 0 ? [] : [{ kind: 'left-out', count }];
  const same = shown.map((text) => ({ kind: 'same' as const, text }));
  return place === 'before' ? [...leftOut, ...same] : [...same, ...leftOut];
}

function between(before: string[], after: string[]): ChangedLine[] {
  const lines: ChangedLine[] = [];
  const common = before.length * after.length > CELLS ? undefined : commonLengths(before, after);
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (common && i < before.length && before[i] === after[j]) {
      lines.push({ kind: 'same', text: before[i]! });
      i += 1;
      j += 1;
    } else if (
      i < before.length &&
      (!common || j === after.length || common[i + 1]![j]! >= common[i]![j + 1]!)
    ) {
      lines.push({ kind: 'removed', text: before[i++]! });
    } else lines.push({ kind: 'added', text: after[j++]! });
  }
  return lines;
}

/** For each pair of places, how many lines in order the rests of both texts have in common. */
function commonLengths(before: string[], after: string[]): number[][] {
  const lengths = Array.from({ length: before.length + 1 }, () =>
    new Array<number>(after.length + 1).fill(0),
  );
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      lengths[i]![j] =
        before[i] === after[j]
          ? lengths[i + 1]![j + 1]! + 1
          : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
  return lengths;
}
