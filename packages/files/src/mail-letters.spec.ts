import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { FilesHandler } from './index.js';

const HEAD = 'From: a@b.example\r\nTo: c@b.example\r\nSubject: Test\r\nMIME-Version: 1.0\r\n';
/** `Привет` and `Привет, как дела` in Windows-1251. */
const HELLO = Buffer.from('cff0e8e2e5f2', 'hex');
const LONGER = Buffer.concat([HELLO, Buffer.from('2c20eae0ea20e4e5ebe0', 'hex')]);

describe('The letters of an e-mail', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, rest: string | Buffer, head = HEAD) =>
    answerOf(handler, [
      filePart(
        'a.eml',
        Buffer.concat([Buffer.from(head), typeof rest === 'string' ? Buffer.from(rest) : rest]),
      ),
      request,
    ]);

  it.each(['windows-1252', 'iso-8859-1', 'us-ascii'])(
    'have quotation marks and the euro sign in %s',
    async (charset) => {
      const type = `Content-Type: text/plain; charset=${charset}\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n`;
      expect(await ask('text', `${type}It=92s =935 =80=94 na=EFve`)).toContain('\nIt’s “5 €” naïve\n');
      const subject = HEAD.replace('Test', `=?${charset}?Q?=93x=94_=80?=`);
      expect(await ask('describe', '\r\nx', subject)).toContain('Subject: `“x” €`.');
    },
  );

  it('are guessed where it declares no encoding, and every answer says so', async () => {
    const content = Buffer.concat([Buffer.from('Content-Type: text/plain\r\n\r\n'), LONGER]);
    const guess = 'That a text is windows-1251 is a guess';
    for (const request of ['text', 'describe', 'find "Привет"']) {
      const answer = await ask(request, content);
      expect(answer).toContain('Привет, как дела');
      expect(answer).toContain(guess);
    }
  });

  it('are those that its page declares', async () => {
    const page = '<html><head><meta charset="windows-1251"></head><body><p>';
    const content = Buffer.concat([Buffer.from(`Content-Type: text/html\r\n\r\n${page}`), HELLO]);
    expect(await ask('text', content)).toContain('\nПривет\n```');
  });

  it('are UTF-8 where the name of the encoding is none', async () => {
    expect(await ask('text', 'Content-Type: text/plain; charset=x-unknown\r\n\r\nПривет')).toContain(
      '\nПривет\n',
    );
  });

  it('that may be wrong are said to be so', async () => {
    const type = 'Content-Type: text/plain; charset=cp850\r\n\r\n';
    expect(await ask('text', `${type}x`)).toContain(
      'What is in `cp850` is read as windows-1252, and its letters may be wrong.',
    );
    const cut = HEAD.replace('Test', '=?utf-8?B?5pel5g==?= =?utf-8?B?nKw=?=');
    expect(await ask('describe', '\r\nx', cut)).toMatch(/\d characters could not be decoded\./);
  });

  it('are those of its page where the other version only says that there is a page', async () => {
    const parts =
      'Content-Type: multipart/alternative; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\nUse a reader.\r\n' +
      '--B\r\nContent-Type: text/html\r\n\r\n<p>The invoice of May is due on Friday</p>\r\n--B--\r\n';
    for (const request of ['text', 'describe', 'find "invoice"'])
      expect(await ask(request, parts)).toContain('The invoice of May is due on Friday');
    expect(await ask('text', parts.replace('Use a reader.', 'The invoice is due on Friday.'))).not.toContain(
      'May',
    );
  });
});
