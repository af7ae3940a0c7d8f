import type ICAL from 'ical.js';
import { componentsOf, textOf } from './content-lines.js';
import type { FileBytes } from './file-bytes.js';

type Component = InstanceType<typeof ICAL.Component>;

/** `1 event`, `2 events`. */
export function counted(amount: number, one: string): string {
  const noun = amount === 1 ? one : one.replace(/y$/, 'ie') + 's';
  return `${amount.toLocaleString('en-US')} ${noun}`;
}

/**
 * A row of cells for each component of a name. One that is broken is left out.
 *
 * @param what `one`: what a component is called; `notes` gets sentences about all of them at the end
 */
export async function* readComponents(
  file: FileBytes,
  head: Uint8Array,
  what: { name: string; one: string; notes: string[] },
  cellsOf: (component: Component) => (string | null)[],
): AsyncGenerator<(string | null)[]> {
  const { default: ICAL } = await import('ical.js');
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(file.mimeType)?.[1] ?? '';
  let broken = 0;
  let guessed = false;
  for await (const { name, lines } of componentsOf(file, head, [what.name])) {
    file.checkTime();
    let row: (string | null)[] | undefined;
    if (lines) {
      const { text, isGuess } = textOf(lines, charset);
      guessed ||= isGuess;
      try {
        row = cellsOf(new ICAL.Component(ICAL.parse(text) as [string, unknown[], unknown[]]));
      } catch {
        // The library throws errors of several kinds for what is not as the format has it.
      }
    }
    if (row && name === what.name) yield row;
    else broken += 1;
  }
  if (broken > 0) what.notes.push(`${counted(broken, what.one)} left out: broken or cut off.`);
  if (guessed) {
    what.notes.push(
      'Text that is not UTF-8 is read as windows-1252, which is a guess: `encoding windows-1251`, for example, reads it as another encoding.',
    );
  }
}
