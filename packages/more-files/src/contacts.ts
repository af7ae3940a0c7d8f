import type ICAL from 'ical.js';
import { beginsWith, componentsOf } from './content-lines.js';
import { readableLines } from './content-text.js';
import type { FileBytes } from './file-bytes.js';
import { counted, readComponents } from './read-components.js';
import type { ReadFile } from './read-table.js';

type Component = InstanceType<typeof ICAL.Component>;
type Property = InstanceType<typeof ICAL.Property>;

const COLUMNS = [
  'name',
  'organization',
  'title',
  'phones',
  'emails',
  'addresses',
  'birthday',
  'urls',
  'note',
];

/** Reads the contacts of a file (vCard 2.1, 3.0 and 4.0). */
export async function readContacts(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  if (!beginsWith(head, 'VCARD')) return undefined;
  let count = 0;
  for await (const component of componentsOf(file, head, ['vcard'])) if (component) count += 1;
  return {
    title: 'Contacts (vCard)',
    facts: [`${counted(count, 'contact')}.`],
    tables: [
      {
        name: undefined,
        columns: COLUMNS,
        notes: [],
        rows: (notes) => readComponents(file, head, { name: 'vcard', one: 'contact', notes }, cellsOf),
      },
    ],
    lines: (notes) => readableLines(file, head, notes),
  };
}

function cellsOf(card: Component): (string | null)[] {
  return [
    valuesOf(card, 'fn') || nameOf(card),
    valuesOf(card, 'org'),
    valuesOf(card, 'title'),
    valuesOf(card, 'tel', /^tel:/i),
    valuesOf(card, 'email', /^mailto:/i),
    valuesOf(card, 'adr'),
    // The time of a birthday has no meaning.
    valuesOf(card, 'bday').replace(/^(\d{4}-\d{2}-\d{2})T.*/, '$1'),
    valuesOf(card, 'url'),
    valuesOf(card, 'note'),
  ].map((cell) => cell || null);
}

/** The parts of a name, from `Prof.` to `Jr.`. */
function nameOf(card: Component): string {
  const value: unknown = card.getFirstPropertyValue('n');
  const [family, given, additional, prefix, suffix] = Array.isArray(value)
    ? value.map(partOf)
    : [partOf(value)];
  return [prefix, given, additional, family, suffix].filter(Boolean).join(' ');
}

/** All values of a property, and of which kind each is. */
function valuesOf(card: Component, name: string, scheme?: RegExp): string {
  const values = card.getAllProperties(name).map((property) => {
    const value: unknown = property.getFirstValue();
    const parts = Array.isArray(value) ? value.map(partOf) : [partOf(value)];
    const text = parts.filter((part) => part !== '').join(', ');
    const kinds = kindsOf(property);
    return text === ''
      ? ''
      : `${scheme ? text.replace(scheme, '') : text}${kinds && scheme ? ` (${kinds})` : ''}`;
  });
  return values.filter((value) => value !== '').join('; ');
}

function kindsOf(property: Property): string {
  const type: unknown = property.getParameter('type');
  const types = (Array.isArray(type) ? type : [type]).filter(
    (each): each is string => typeof each === 'string',
  );
  const kinds = types.flatMap((each) => each.toLowerCase().split(','));
  return kinds.filter((kind) => !['internet', 'voice', 'pref'].includes(kind)).join(', ');
}

function partOf(part: unknown): string {
  // Dates are objects of the library.
  const text = Array.isArray(part)
    ? part.map(String).join(', ')
    : (part as { toString(): string } | null | undefined)?.toString();
  return (text ?? '').replace(/\\;/g, ';').trim();
}
