import { readContacts } from './contacts.js';

async function contactsOf(content: string | Buffer) {
  const bytes = Buffer.from(content as string);
  const read = async (start: number, end: number) => bytes.subarray(start, end);
  const file = { name: 'a.vcf', mimeType: '', size: bytes.length, read, checkTime: () => undefined };
  const found = await readContacts(file, bytes.subarray(0, 65_536));
  if (!found) return undefined;
  const table = found.tables[0]!;
  const all: Record<string, string>[] = [];
  const notes: string[] = [];
  for await (const row of table.rows(notes)) {
    const cells = row.flatMap((cell, at) => (cell === null ? [] : [[table.columns![at]!, cell]]));
    all.push(Object.fromEntries(cells) as Record<string, string>);
  }
  return { facts: found.facts, rows: all, notes };
}

const card = (...lines: string[]) => ['BEGIN:VCARD', ...lines, 'END:VCARD', ''].join('\r\n');

describe('readContacts', () => {
  it('reads vCard 3.0', async () => {
    const found = await contactsOf(
      card(
        'VERSION:3.0',
        'N:Müller;Eva;;Dr.;',
        'FN:Eva Müller',
        'ORG:Acme;Sales',
        'TEL;TYPE=WORK,VOICE:+49 1',
        'TEL;TYPE=CELL:+49 2',
        'item1.EMAIL;TYPE=INTERNET:e@x.y',
        'ADR;TYPE=HOME:;;Street 1\\, back;Town;;123;DE',
        'BDAY:1980-02-03',
        'NOTE:a\\nb\\; c lo',
        ' ng',
        'PHOTO;ENCODING=b:AAAA',
        ' BBBB',
      ),
    );
    expect(found).toEqual({
      facts: ['1 contact.'],
      rows: [
        {
          name: 'Eva Müller',
          organization: 'Acme, Sales',
          phones: '+49 1 (work); +49 2 (cell)',
          emails: 'e@x.y',
          addresses: 'Street 1, back, Town, 123, DE',
          birthday: '1980-02-03',
          note: 'a\nb; c long',
        },
      ],
      notes: [],
    });
  });

  it('reads vCard 2.1 with quoted-printable and encodings', async () => {
    const found = await contactsOf(
      card(
        'VERSION:2.1',
        'N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;Eva;;Dr.',
        'TEL;WORK;VOICE:123',
        'ADR;HOME;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:;;Stra=DFe 1, hinten=',
        ' und vorn;K=F6ln;;1;DE',
        'BDAY:19800203',
        'NOTE;QUOTED-PRINTABLE:one=0D=0Atwo',
      ),
    );
    expect(found!.rows).toEqual([
      {
        name: 'Dr. Eva Müller',
        phones: '123 (work)',
        addresses: 'Straße 1, hinten und vorn, Köln, 1, DE',
        birthday: '1980-02-03',
        note: 'one\ntwo',
      },
    ]);
    expect(found!.notes).toEqual([]);
  });

  it('reads vCard 4.0', async () => {
    const found = await contactsOf(
      card(
        'VERSION:4.0',
        'FN:Ana',
        'TEL;VALUE=uri;TYPE="voice,home":tel:+1-555',
        'BDAY:--0203',
        'URL:http://x.y',
      ),
    );
    expect(found!.rows).toEqual([
      { name: 'Ana', phones: '+1-555 (home)', birthday: '--02-03', urls: 'http://x.y' },
    ]);
  });

  it('leaves out a contact that is broken or cut off, and says so', async () => {
    const found = await contactsOf(
      `${card('VERSION:3.0', 'FN:A')}${card('no colon')}BEGIN:VCARD\r\nVERSION:3.0\r\nFN:cut`,
    );
    expect(found!.rows).toEqual([{ name: 'A' }]);
    expect(found!.notes).toEqual(['2 contacts left out: broken or cut off.']);
  });

  it('reads quotation marks of Windows-1252', async () => {
    const text = card('VERSION:3.0', 'FN:A', 'NOTE:\x93Hi\x94');
    expect((await contactsOf(Buffer.from(text, 'latin1')))!.rows).toEqual([{ name: 'A', note: '“Hi”' }]);
  });

  it('reads UTF-16, and says that text of another encoding is a guess', async () => {
    const text = card('VERSION:3.0', 'FN:Müller');
    expect(await contactsOf(Buffer.from(`\ufeff${text}`, 'utf16le'))).toMatchObject({
      rows: [{ name: 'Müller' }],
      notes: [],
    });
    expect(await contactsOf(Buffer.from(text, 'latin1'))).toMatchObject({
      rows: [{ name: 'Müller' }],
      notes: [expect.stringContaining('read as windows-1252, which is a guess: `encoding windows-1251`')],
    });
  });

  it('reads no other file', async () => {
    expect(await contactsOf('FN:Eva')).toBeUndefined();
  });
});
