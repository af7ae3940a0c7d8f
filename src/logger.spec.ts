import { Writable } from 'node:stream';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { eventually } from '../test/support/conditions.js';
import { Outputs, ServiceLogger } from './logger.js';

describe('The log of the service', () => {
  it('has what the service reports, and not the steps of the start of Nest', () => {
    const lines: string[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((text) => lines.push(String(text)) > 0);
    Logger.overrideLogger(new ServiceLogger());
    new Logger('Database').log('The database is back after 1.5 s.');
    new Logger('RouterExplorer').log('Mapped {/query, POST} route');
    new Logger('Database').debug('A connection was lost.');
    write.mockRestore();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/LOG.*\[Database\].*The database is back after 1\.5 s\./);
  });

  it('loses what exceeds 4 MiB while nobody reads the output, and says so when there is room again', () => {
    const lines: string[] = [];
    const output = { writableLength: 4 * 1024 * 1024 + 1, cork() {}, uncork() {} };
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((text) => lines.push(String(text)) > 0);
    const logger = new ServiceLogger('json', 'info', new Outputs(output));
    logger.log('one', 'Test');
    logger.warn('two', 'Test');
    logger.debug('not logged at all', 'Test');
    output.writableLength = 0;
    logger.log('three', 'Test');
    write.mockRestore();
    expect(lines.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual([
      '2 entries of the log are lost: the reader of the output did not read.',
      'three',
    ]);
  });

  it('writes the reports of 10 ms together, and a warning at once', async () => {
    const lines: string[] = [];
    const writes: string[][] = [];
    const output = new Writable({
      decodeStrings: false,
      write: (line: string, _, written) => (writes.push([line]), written()),
      writev: (chunks, written) => (writes.push(chunks.map(({ chunk }) => String(chunk))), written()),
    });
    const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      lines.push(String(text));
      return output.write(text);
    });
    const logger = new ServiceLogger('text', 'info', new Outputs(output));
    for (const text of ['one', 'two']) logger.log(text, 'Test');
    expect(writes).toEqual([]);
    await eventually(() => writes.length > 0);
    logger.log('three', 'Test');
    logger.warn('four', 'Test');
    write.mockRestore();
    expect(writes).toEqual([lines.slice(0, 2), [lines[2]], [lines[3]]]);
    expect(lines[3]).toContain('four');
  });
});
