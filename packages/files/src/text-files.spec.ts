import { describedBy } from '../../../test/support/described-file.js';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { FilesHandler } from './index.js';

describe('A text file whose kind its text shows', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const TABS = 'Name\tCity\tAmount\r\nEva\tKöln\t1,5\r\n"A ""b""\tc"\tOslo\t2,5\r\n';

  it.each([
    ['UTF-16 with a byte order mark, as Excel writes it', Buffer.from(`\ufeff${TABS}`, 'utf16le')],
    ['UTF-8', Buffer.from(TABS)],
    ['one byte for a character', Buffer.from(TABS, 'latin1')],
  ])('is a table if all lines have the same number of tabs: %s', async (_encoding, content) => {
    expect(await describedBy(handler, 'a.txt', content)).toMatch(/\*\*TSV table\*\*[^]*2 rows of 3 columns/);
    const file = filePart('a.txt', content);
    const answer = await answerOf(handler, [
      file,
      'select "Name", "City", sum("Amount") as n from a group by all',
    ]);
    expect(answer).toContain('| `Eva` | `Köln` | 1.5 |');
    expect(answer).toContain('| `A "b"\tc`'.replace('\t', ' '));
  });

  it('has tabs between columns although the commas in its numbers are regular as well', async () => {
    const file = filePart('a.txt', 'one\ttwo\n1,234,567\t2\n1,234,568\t3\n');
    expect(await answerOf(handler, [file, 'select sum(one) as n from a'])).toContain('2469135');
  });

  it.each([
    ['lines of different numbers of tabs', 'a\tb\nc\n\td\n'],
    ['code', 'function f() {\n\treturn 1;\n}\n'],
    ['two lines with a tab', 'Name:\tEva\nCity:\tOslo\n'],
  ])('is a text if it has %s', async (_what, content) => {
    expect(await describedBy(handler, 'a.txt', content)).toContain('**Text file**');
  });

  it('of XML is described by its root element and the elements that it repeats', async () => {
    const xml =
      '<?xml version="1.0"?>\n<g:gpx xmlns:g="http://www.topografix.com/GPX/1/1">' +
      '<g:trk><g:pt a="1"/><g:pt a="2"/><g:pt a="3"/></g:trk></g:gpx>\n';
    for (const name of ['a.xml', 'a.gpx']) {
      const answer = await describedBy(handler, name, xml);
      expect(answer).toContain(
        'Root element: `g:gpx`, of the namespace `http://www.topografix.com/GPX/1/1`. 5 elements on 3 levels.',
      );
      expect(answer).toContain('| `/g:gpx/g:trk/g:pt` | 3 | 3 |');
    }
    const russian = '<?xml version="1.0" encoding="windows-1251"?><a xmlns="urn:x"><b/></a>';
    expect(await describedBy(handler, 'a.xml', russian)).toContain(
      'Root element: `a`, of the namespace `urn:x`. 2 elements on 2 levels.',
    );
  });

  it('of XML that is broken is described up to its fault', async () => {
    expect(await describedBy(handler, 'a.xml', '<a><b></a>')).toContain(
      'At least 2 elements on 2 levels. Only what comes before a fault of this XML is counted.',
    );
  });

  it('of a calendar has its events as a table', async () => {
    const calendar =
      'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;TZID=Europe/Oslo:20240304T100000\r\nSUMMARY:Lunch\r\nEND:VEVENT\r\n' +
      'BEGIN:VEVENT\r\nDTSTART:garbage\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n';
    const described = await describedBy(handler, 'a.ics', calendar);
    expect(described).toContain('**Calendar (iCalendar)**');
    expect(described).toContain('1 event left out: broken or cut off.');
    const file = filePart('a.ics', calendar);
    const answer = await answerOf(handler, [file, 'select start, time_zone, summary from a']);
    expect(answer).toContain('1 event left out');
    expect(answer).toMatch(/2024-03-04[T ]10:00:00`? \| `Europe\/Oslo` \| `Lunch`/);
    expect(await answerOf(handler, [file, 'find lunch'])).toContain('SUMMARY:Lunch');
  });

  it('of contacts has them as a table', async () => {
    const contacts = 'BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Eva Müller\r\nTEL;TYPE=WORK:+49 1\r\nEND:VCARD\r\n';
    expect(await describedBy(handler, 'a.vcf', contacts)).toContain('**Contacts (vCard)**');
    expect(await answerOf(handler, [filePart('a.vcf', contacts), 'select name, phones from a'])).toContain(
      '| `Eva Müller` | `+49 1 (work)` |',
    );
  });

  it('of TopoJSON has a table for each of its objects, with the properties as columns', async () => {
    const topology = JSON.stringify({
      type: 'Topology',
      bbox: [-10, 35.5, 30, 70],
      objects: {
        countries: {
          type: 'GeometryCollection',
          geometries: [
            { type: 'Polygon', arcs: [[0]], id: '578', properties: { name: 'Norway', people: 5 } },
            { type: 'MultiPolygon', arcs: [[[1]]], id: '752', properties: { name: 'Sweden', people: 10 } },
          ],
        },
      },
      arcs: [
        [
          [0, 0],
          [1, 1],
        ],
        [
          [2, 2],
          [3, 3],
        ],
      ],
    });
    const file = filePart('a.json', topology);
    expect(await answerOf(handler, [file, 'select * from a_objects_countries_geometries'])).toMatch(
      /x from -10 to 30, y from 35\.5 to 70\.[^]*without their arcs[^]*\| `578` \| `Norway` \| 5 \| `Polygon` \|/,
    );
    expect(await describedBy(handler, 'a.json', topology)).toContain('`geometry_type`');
  });
});
