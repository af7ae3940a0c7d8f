import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

const HEADS = 'From: a@b.example\nTo: c@b.example\nDate: Tue, 01 Dec 2026 10:00:00 +0000\n';
const MAILBOX =
  `From a@b.example Tue Dec  1 10:00:00 2026\n${HEADS}Subject: One\nContent-Transfer-Encoding: quoted-printable\n` +
  'Content-Type: text/plain; charset=utf-8\n\ncaf=C3=A9 mess=\nage\n\n>From here\nFrom there, in 2026\n\n' +
  `From b@b.example Tue Dec  1 11:00:00 2026 +0100\n${HEADS}Subject: =?utf-8?Q?Zweite_=C3=BC?=\n\nSecond\n`;

describe('A mailbox', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, content: string | Buffer, name = 'a.mbox') =>
    answerOf(handler, [filePart(name, content), request]);

  it('is described by its messages', async () => {
    const answer = await ask('describe', MAILBOX);
    expect(answer).toMatch(/\*\*Mailbox \(mbox\)\*\*, \d+ bytes\. 2 messages\./);
    expect(answer).toContain('In `message 1.eml`: **E-mail**');
    expect(answer).toContain('```text\ncafé message\n\nFrom here\nFrom there, in 2026\n```');
    expect(answer).toContain('Subject: `Zweite ü`.');
  });

  it('has the text of its messages, which are its entries', async () => {
    expect(await ask('find "message"', MAILBOX)).toContain(
      '`a.mbox`, entry `message 1.eml`, line 1: `café message`',
    );
    expect(await ask('entry message 2.eml', MAILBOX)).toContain('Subject: Zweite ü');
    const archive = zipOf([['in/a.mbox', Buffer.from(MAILBOX)]]);
    expect(await ask('find "second"', archive, 'a.zip')).toContain('entry `in/a.mbox/message 2.eml`');
  });

  it('is none where a text only begins with the word', async () => {
    expect(await ask('describe', 'From the start of 2026\nall went well.\n', 'a.txt')).toContain(
      '**Text file**',
    );
  });
});
