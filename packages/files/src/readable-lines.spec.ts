import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { FilesHandler } from './index.js';

const CALENDAR =
  'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261201T100000Z\r\nSUMMARY:Sitzung mit Fra\r\n u Müller\\, Raum 5\r\n' +
  'ATTENDEE:mailto:a@b.example\r\nDESCRIPTION:eins\\nzwei\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n';
const CONTACTS =
  'BEGIN:VCARD\r\nVERSION:2.1\r\nFN;CHARSET=WINDOWS-1251;ENCODING=QUOTED-PRINTABLE:=CF=F0=E8=\r\n=E2=E5=F2\r\nPHOTO;ENCODING=BASE64:/9j/\r\n SkZJ\r\nEND:VCARD\r\n';
const NOTEBOOK = JSON.stringify({
  cells: [
    { cell_type: 'markdown', source: ['# Titel ü\n', 'a "b"'] },
    {
      cell_type: 'code',
      source: 'if x:\n  y()',
      outputs: [
        { text: ['out\n'] },
        { data: { 'text/plain': ['42'], 'image/png': 'iVBO' } },
        { evalue: 'no y' },
      ],
    },
  ],
}).replace('ü', '\\u00fc');

describe('The lines of a text that has marks for programs', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, name: string, content: string) =>
    answerOf(handler, [filePart(name, content), request]);

  it('are those of a calendar as a whole, with all that it says', async () => {
    const answer = await ask('text', 'a.ics', CALENDAR);
    expect(answer).toContain(
      '\nSUMMARY:Sitzung mit Frau Müller, Raum 5\nATTENDEE:mailto:a@b.example\nDESCRIPTION:eins zwei\n',
    );
    expect(await ask('find "Frau"', 'a.ics', CALENDAR)).toContain('`a.ics`, line 6: ');
  });

  it('are those of contacts in their encodings, without pictures', async () => {
    expect(await ask('text', 'a.vcf', CONTACTS)).toContain(
      '\nFN:Привет\nEND:VCARD\n```\n\nPictures, sounds, keys and attachments in it are left out.',
    );
    expect(await ask('find "Привет"', 'a.vcf', CONTACTS)).toContain('1 passage with `Привет`');
  });

  it('are those of the cells of a notebook and of what they put out', async () => {
    expect(await ask('text', 'a.ipynb', NOTEBOOK)).toContain(
      '```text\n# Titel ü\na "b"\nif x:\n  y()\n[output] out\n[output] 42\n[output] no y\n```',
    );
    expect(await ask('find "y"', 'a.ipynb', NOTEBOOK)).toContain('`a.ipynb`, cell 2, line 2: ');
    expect(await ask('text', 'a.ipynb', NOTEBOOK.slice(0, 80))).toContain(
      'This notebook is broken or cut off',
    );
  });

  it('have letters in place of their numbers in JSON and XML, where they are no marks', async () => {
    const json = '{"city": "Z\\u00fcrich \\\\u00fc \\u0022 \\ud83d\\ude00"}';
    expect(await ask('text', 'a.json', json)).toContain('{"city": "Zürich \\\\u00fc \\u0022 😀"}');
    expect(await ask('find "Zürich"', 'a.json', json)).toContain('1 passage');
    const xml = '<?xml version="1.0"?><a>Caf&#233; &#xe9; &#60;b&gt;</a>';
    expect(await ask('text', 'a.kml', xml)).toContain('<a>Café é &#60;b&gt;</a>');
  });
});
