import { readCalendar } from './calendar.js';
import type { ReadFile } from './read-table.js';

function fileOf(content: string | Buffer) {
  const bytes = Buffer.from(content as string);
  const read = async (start: number, end: number) => bytes.subarray(start, end);
  return { name: 'a.ics', mimeType: '', size: bytes.length, read, checkTime: () => undefined };
}

async function calendarOf(content: string | Buffer): Promise<ReadFile | undefined> {
  const file = fileOf(content);
  return readCalendar(file, await file.read(0, 65_536));
}

/** The rows of a table, each as the cells that have a value by their column, and the notes. */
async function rowsOf(file: ReadFile | undefined, table = 0) {
  const found = file!.tables[table]!;
  const all: Record<string, string>[] = [];
  const said = [...found.notes];
  for await (const row of found.rows(said)) {
    const cells = row.flatMap((cell, index) => (cell === null ? [] : [[found.columns![index]!, cell]]));
    all.push(Object.fromEntries(cells) as Record<string, string>);
  }
  return { rows: all, notes: said };
}

const calendar = (...lines: string[]) => ['BEGIN:VCALENDAR', ...lines, 'END:VCALENDAR', ''].join('\r\n');
const event = (...lines: string[]) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT'].join('\r\n');

describe('readCalendar', () => {
  it('reads events with times in their zone, in UTC, and of whole days', async () => {
    const file = await calendarOf(
      calendar(
        'X-WR-CALNAME:Büro',
        'BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nEND:STANDARD\r\nEND:VTIMEZONE',
        event('DTSTART;TZID=Europe/Berlin:20240304T100000', 'DURATION:PT1H30M', 'SUMMARY:A'),
        event('DTSTART:20240304T100000Z', 'DTEND:20240304T110000Z', 'SUMMARY:B'),
        event('DTSTART;VALUE=DATE:20240304', 'DTEND;VALUE=DATE:20240305', 'SUMMARY:C'),
      ),
    );
    expect(file).toMatchObject({ title: 'Calendar (iCalendar)', facts: ['Name: Büro.', '3 events.'] });
    expect(file!.tables.map(({ name }) => name)).toEqual([undefined]);
    const { rows, notes } = await rowsOf(file);
    const [zone, utc, day] = rows;
    expect(zone).toEqual({
      start: '2024-03-04T10:00:00',
      end: '2024-03-04T11:30:00',
      all_day: 'FALSE',
      time_zone: 'Europe/Berlin',
      summary: 'A',
    });
    expect(utc).toMatchObject({ start: '2024-03-04T10:00:00', end: '2024-03-04T11:00:00', time_zone: 'UTC' });
    expect(day).toEqual({
      start: '2024-03-04T00:00:00',
      end: '2024-03-05T00:00:00',
      all_day: 'TRUE',
      summary: 'C',
    });
    expect(notes).toEqual(['`end` of an event of whole days is the day after its last one.']);
  });

  it('reads folded lines, escapes, the organizer and recurrences, and leaves alarms and attachments out', async () => {
    const { rows, notes } = await rowsOf(
      await calendarOf(
        `\ufeff\r\n${calendar(
          event(
            'DTSTART;VALUE=DATE:20240304',
            'SUMMARY:A\\, b\\nc lo',
            ' ng\\; d',
            'ORGANIZER;CN="Eva: M":mailto:eva@x.y',
            'RRULE:FREQ=WEEKLY;COUNT=5',
            'EXDATE;VALUE=DATE:20240311',
            'CATEGORIES:a,b',
            'ATTACH;ENCODING=BASE64;VALUE=BINARY:AAAA',
            ' BBBB',
            'BEGIN:VALARM\r\nSUMMARY:alarm\r\nEND:VALARM',
          ),
        )}`,
      ),
    );
    expect(rows).toEqual([
      {
        start: '2024-03-04',
        all_day: 'TRUE',
        summary: 'A, b\nc long; d',
        organizer: 'Eva: M <eva@x.y>',
        categories: 'a, b',
        recurrence: 'FREQ=WEEKLY;COUNT=5; except 2024-03-11',
      },
    ]);
    expect(notes).toContain('What is repeated is one row: `recurrence` has its rule.');
  });

  it('has a table for each of events, to-dos and journal entries', async () => {
    const file = await calendarOf(
      calendar(
        event('DTSTART:20240304T100000', 'SUMMARY:A'),
        'BEGIN:VTODO\r\nDUE:20240305T120000\r\nSUMMARY:B\r\nEND:VTODO',
        'BEGIN:VJOURNAL\r\nDTSTART;VALUE=DATE:20240101\r\nSUMMARY:C\r\nEND:VJOURNAL',
      ),
    );
    expect(file!.facts).toEqual(['1 event, 1 to-do, 1 journal entry.']);
    expect(file!.tables.map(({ name }) => name)).toEqual(['events', 'to-dos', 'journal']);
    expect((await rowsOf(file, 1)).rows).toMatchObject([{ due: '2024-03-05T12:00:00', summary: 'B' }]);
    expect((await rowsOf(file, 2)).rows).toMatchObject([{ start: '2024-01-01', summary: 'C' }]);
  });

  it('leaves out what is broken or cut off, and says so', async () => {
    const { rows, notes } = await rowsOf(
      await calendarOf(
        `BEGIN:VCALENDAR\n${event('DTSTART:garbage')}\n${event('SUMMARY:A')}\n${event('no colon')}\nBEGIN:VEVENT\nSUMMARY:cut`,
      ),
    );
    expect(rows).toEqual([{ summary: 'A' }]);
    expect(notes).toEqual(['3 events left out: broken or cut off.']);
  });

  it('reads no other file, and a calendar without events has no table', async () => {
    expect(await calendarOf('Dear BEGIN:VCALENDAR')).toBeUndefined();
    expect(await calendarOf(calendar('VERSION:2.0'))).toMatchObject({
      facts: ['It has no events.'],
      tables: [],
    });
  });
});
