import { changedLines } from './text-lines.js';

/** As people write changes. */
function shown(oldText: string | null, newText: string): string[] {
  const marks = { same: ' ', added: '+', removed: '-' };
  return changedLines(oldText, newText).map((line) =>
    line.kind === 'left-out' ? `… ${line.count}` : marks[line.kind] + line.text,
  );
}

describe('The lines of a change', () => {
  it('are those that were removed and added, with three around them', () => {
    const before = ['1', '2', '3', '4', '5', '6', '7', '8', '9', ''].join('\n');
    expect(shown(before, before.replace('5', 'five\nhalf'))).toEqual(
      ['… 1', ' 2', ' 3', ' 4', '-5', '+five', '+half', ' 6', ' 7', ' 8', '… 1'], // prettier-ignore
    );
  });

  it('keep the lines between two changes', () => {
    expect(shown('a\nb\nc', 'x\nb\ny')).toEqual(['-a', '+x', ' b', '-c', '+y']);
  });

  it('are all new of a new file, and none of texts that are equal', () => {
    expect(shown(null, 'a\n\nb\n')).toEqual(['+a', '+', '+b']);
    expect(shown('a\n', '')).toEqual(['-a']);
    expect(shown('a', 'a')).toEqual([' a']);
    expect(shown('', '')).toEqual([]);
  });

  it('are removed and added as a whole if the texts are large', () => {
    const before = Array.from({ length: 3000 }, (_, index) => `a${index}`).join('\n');
    const lines = changedLines(before, before.replaceAll('a', 'b'));
    expect(lines.map(({ kind }) => kind)).toEqual([
      ...Array(3000).fill('removed'),
      ...Array(3000).fill('added'),
    ]);
  });
});
