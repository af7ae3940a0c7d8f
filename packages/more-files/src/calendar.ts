import type ICAL from 'ical.js';
import { beginsWith, componentsOf } from './content-lines.js';
import { readableLines } from './content-text.js';
import type { FileBytes } from './file-bytes.js';
import { counted, readComponents } from './read-components.js';
import type { ReadFile, ReadTable } from './read-table.js';

type Cell = string | null;
type Calendar = InstanceType<typeof ICAL.Component>;
type Property = InstanceType<typeof ICAL.Property>;
type Time = InstanceType<typeof ICAL.Time>;

const COMMON = [
  'summary',
  'location',
  'description',
  'organizer',
  'status',
  'categories',
  'recurrence',
  'uid',
];
/** What is in a calendar, and the names of their times. */
const PARTS = [
  { name: 'vevent', table: 'events', one: 'event', times: ['start', 'end'] },
  { name: 'vtodo', table: 'to-dos', one: 'to-do', times: ['start', 'due', 'completed'] },
  { name: 'vjournal', table: 'journal', one: 'journal entry', times: ['start'] },
];
const WHOLE_DAYS = '`end` of an event of whole days is the day after its last one.';
const REPEATED = 'What is repeated is one row: `recurrence` has its rule.';

/** Reads the events, to-dos and journal of a calendar (iCalendar, RFC 5545). */
export async function readCalendar(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  if (!beginsWith(head, 'VCALENDAR')) return undefined;
  const found = new Map<string, { count: number; hasTimes: boolean; notes: Set<string> }>();
  let title = '';
  const names = PARTS.map(({ name }) => name);
  for await (const { name, lines = [] } of componentsOf(file, head, names, (line) => {
    title ||= /^X-WR-CALNAME(?:;[^:]*)?:(.*)/i.exec(line)?.[1] ?? '';
  })) {
    const part = found.get(name) ?? { count: 0, hasTimes: false, notes: new Set() };
    part.count += 1;
    for (const line of lines) {
      part.hasTimes ||= /^(?:DTSTART|DUE)[^:]*:\s*\d{8}T/i.test(line);
      if (name === 'vevent' && /^DTSTART[^:]*:\s*\d{8}\s*$/i.test(line)) part.notes.add(WHOLE_DAYS);
      if (/^RRULE[;:]/i.test(line)) part.notes.add(REPEATED);
    }
    found.set(name, part);
  }
  const parts = PARTS.filter(({ name }) => found.has(name));
  const tables = parts.map(({ name, table, one, times }): ReadTable => {
    const { hasTimes, notes: known } = found.get(name)!;
    const columns = [...times, 'all_day', 'time_zone', ...COMMON];
    return {
      name: parts.length > 1 ? table : undefined,
      columns,
      notes: [...known],
      rows: (notes) =>
        readComponents(file, head, { name, one, notes }, (each) => cellsOf(each, times, hasTimes)),
    };
  });
  const counts = parts.map(({ name, one }) => counted(found.get(name)!.count, one));
  const facts = [`${counts.join(', ') || 'It has no events'}.`];
  if (title)
    facts.unshift(
      `Name: ${Buffer.from(title, 'latin1')
        .toString()
        .replace(/[^\p{L}\p{N} .,:'-]/gu, '')
        .slice(0, 200)}.`,
    );
  const lines = (notes: Set<string>) => readableLines(file, head, notes);
  return { title: 'Calendar (iCalendar)', facts, tables, lines };
}

/** @param hasTimes whether other days have times: one column has one type */
function cellsOf(part: Calendar, times: string[], hasTimes: boolean): Cell[] {
  const start = part.getFirstProperty('dtstart') ?? part.getFirstProperty('due');
  const first = timeOf(start);
  const cells = times.map((time) => {
    const property = part.getFirstProperty(time === 'start' ? 'dtstart' : time);
    return showTime(time === 'end' ? endOf(part, first) : timeOf(property), hasTimes);
  });
  const zone = first?.isDate ? null : zoneOf(start, first);
  return [
    ...cells,
    first ? (first.isDate ? 'TRUE' : 'FALSE') : null,
    zone,
    ...COMMON.map((name) => textOf(part, name)),
  ];
}

function timeOf(property: Property | null): Time | undefined {
  const value = property?.getFirstValue();
  return value && typeof value === 'object' && 'isDate' in value ? value : undefined;
}

/** An event has an end or a duration. */
function endOf(part: Calendar, start: Time | undefined): Time | undefined {
  const stated = timeOf(part.getFirstProperty('dtend'));
  const duration = part.getFirstPropertyValue('duration');
  if (stated || !start || !duration || typeof duration !== 'object' || !('toSeconds' in duration))
    return stated;
  const end = start.clone();
  end.addDuration(duration as Parameters<Time['addDuration']>[0]);
  return end;
}

/** ISO 8601, without the offset: the zone is in a column of its own. */
function showTime(time: Time | undefined, hasTimes: boolean): Cell {
  if (!time) return null;
  return `${time.toString().replace(/Z$/, '')}${time.isDate && hasTimes ? 'T00:00:00' : ''}`;
}

function zoneOf(property: Property | null, time: Time | undefined): Cell {
  if (time?.toString().endsWith('Z')) return 'UTC';
  const zone: unknown = property?.getParameter('tzid');
  return typeof zone === 'string' ? zone : null;
}

function textOf(part: Calendar, name: string): Cell {
  if (name === 'recurrence') return recurrenceOf(part);
  const property = part.getFirstProperty(name);
  const values = property?.getValues().map(String) ?? [];
  const person: unknown = name === 'organizer' ? property?.getParameter('cn') : undefined;
  const text = values
    .join(', ')
    .replace(/^mailto:/i, '')
    .replace(/\\;/g, ';');
  return (typeof person === 'string' ? `${person} <${text}>` : text) || null;
}

/** The rule of what is repeated, and the times that are added or left out. */
function recurrenceOf(part: Calendar): Cell {
  const timesOf = (name: string) =>
    part.getAllProperties(name).flatMap((each) => each.getValues().map(String));
  const [added, except] = [timesOf('rdate'), timesOf('exdate')];
  const parts = [
    part.getFirstPropertyValue('rrule')?.toString(),
    added.length > 0 && `also ${added.join(', ')}`,
    except.length > 0 && `except ${except.join(', ')}`,
  ];
  return parts.filter(Boolean).join('; ') || null;
}
