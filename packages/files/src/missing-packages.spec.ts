import { readFile } from 'node:fs/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import type { FilesHandler } from './index.js';

const FIXTURES = new URL('../../../test/fixtures/files/', import.meta.url);

jest.unstable_mockModule('./parser-entry.js', () => ({
  parserEntry: new URL('../../../test/support/parser-without-packages.mjs', import.meta.url),
}));

const fixture = async (name: string) => filePart(name, await readFile(new URL(name, FIXTURES)));

const LARGE = filePart('large.csv', `id,name\n${'1,ada\n'.repeat(20_000)}`);

const needs = (what: string, name: string) =>
  `This service is not set up ${what}: the package \`${name}\` is not installed. ` +
  `Its operator adds it with \`npm install ${name}\`.`;

describe('Without the optional packages', () => {
  let handler: FilesHandler;
  let warn: jest.SpiedFunction<Logger['warn']>;

  beforeAll(async () => {
    const { FilesHandler: Handler } = await import('./index.js');
    handler = new Handler();
  });

  beforeEach(() => {
    warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  });

  afterEach(() => jest.restoreAllMocks());

  afterAll(() => handler.onApplicationShutdown());

  it.each([
    ['engine.json', '@streamparser/json'],
    ['report.html', 'htmlparser2'],
    ['picture.png', 'image-size'],
    ['tone.mp3', 'music-metadata'],
    ['mail.eml', 'postal-mime'],
    ['report.pdf', 'unpdf'],
    ['report.docx', 'yauzl'],
  ])('the answer for %s names the package %s, and so does the log', async (name, needed) => {
    const answer = await answerOf(handler, [await fixture(name)]);
    expect(answer).toContain(needs('to look into files of this type', needed));
    expect(warn).toHaveBeenCalledWith(expect.stringContaining(`'${needed}'`));
  });

  it('the answer for a large table and for a statement name the engine', async () => {
    expect(await answerOf(handler, [LARGE])).toContain(
      needs('to look into files of this type', '@duckdb/node-api'),
    );
    expect(await answerOf(handler, [LARGE, 'select count(*) from large'])).toBe(
      `${needs('for this request', '@duckdb/node-api')}\n\n`,
    );
    expect(await answerOf(handler, [LARGE, 'find ada'])).toContain(needs('for this request', 'minisearch'));
  });

  it('other files are described as before', async () => {
    expect(await answerOf(handler, [await fixture('cities.csv')])).toContain('3 rows of 4 columns');
    expect(await answerOf(handler, [await fixture('archive.tar.gz')])).toContain('2 files, 8.9 kB unpacked');
    expect(await answerOf(handler, [await fixture('settings.yaml')])).toContain('**YAML file**');
  });
});
