import { inspect } from 'node:util';
import { LogEntry } from './log-entry.js';

/** The text that a logger makes of an entry. */
const textOf = (fields: ConstructorParameters<typeof LogEntry>[1]) =>
  inspect(new LogEntry('Title:', { event: 'admitted', ...fields }));

describe('An entry of the log', () => {
  it('is a line of text, without what is not known', () => {
    expect(textOf({ run: 'a-1', session: undefined, files: 0, waits: false })).toBe(
      'Title: run=a-1 files=0 waits=false',
    );
  });

  it('is an object for a logger that writes JSON', () => {
    const entry = new LogEntry('Title:', { event: 'admitted', session: undefined, files: 0, waits: false });
    expect(JSON.parse(JSON.stringify(entry))).toEqual({ event: 'admitted', files: 0, waits: false });
  });

  it.each([
    ['ann@example.org', 'ann@example.org'],
    ['https://issuer/|ann', '"https://issuer/|ann"'],
    ['', '""'],
    ['a b', '"a b"'],
    ['"', '"\\""'],
    ['a\\', '"a\\\\"'],
    ['a" status=completed "', '"a\\" status=completed \\""'],
    ['a\nb', '"a\\\\u000ab"'],
    ['\u001b[2J', '"\\\\u001b[2J"'],
    ['\u202e', '"\\\\u202e"'],
    ['müller', '"müller"'],
    ['😀', '"😀"'],
  ])('quotes the text %j as %s', (owner, shown) => {
    expect(textOf({ owner })).toBe(`Title: owner=${shown}`);
  });

  it('cuts a long text, and leaves no half of a character', () => {
    expect(textOf({ owner: 'a'.repeat(200) })).toBe(`Title: owner=${'a'.repeat(200)}`);
    expect(textOf({ owner: 'a'.repeat(201) })).toBe(`Title: owner="${'a'.repeat(200)}…"`);
    expect(textOf({ owner: `${'a'.repeat(199)}😀b` })).toBe(`Title: owner="${'a'.repeat(199)}\\\\ud83d…"`);
  });
});
