import { Writable } from 'node:stream';
import { jest } from '@jest/globals';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { eventually } from '../../test/support/conditions.js';
import { LogEntry } from '../telemetry/log/log-entry.js';
import { Outputs, ServiceLogger } from './logger.js';
import { neverFail } from './process-outputs.js';

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

  it('has an entry of a query as the logger of Nest would write it', () => {
    const lines: string[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((text) => lines.push(String(text)) > 0);
    const now = jest.spyOn(Date, 'now').mockReturnValue(1_700_000_000_000);
    const fields = { event: 'ended', run: 'r1', session: undefined, owner: 'a "b"\\\u001b', envelopes: 2 };
    const entry = new LogEntry('Run ended:', fields);
    new ServiceLogger('json').log(entry, 'Query');
    new ConsoleLogger({ json: true }).log(entry, 'Query');
    new ServiceLogger('json', 'warn').log(entry, 'Query');
    new ServiceLogger('text').log(entry, 'Query');
    write.mockRestore();
    now.mockRestore();
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe(lines[1]);
    expect(lines[0]).toMatch(
      /^\{"level":"log","pid":\d+,"timestamp":1700000000000,"message":\{"event":"ended"/,
    );
    expect(lines[2]).toMatch(/LOG.*\[Query\].*Run ended: run=r1 owner="a \\"b\\"/);
  });

  it('loses what exceeds 4 MiB while nobody reads the output, and says so when there is room again', async () => {
    const lines: string[] = [];
    let read = () => {};
    const output = new Writable({
      decodeStrings: false,
      write: (line: string, _, written) => {
        lines.push(line.trim());
        read = () => written();
      },
    });
    neverFail((sentence) => lines.push(sentence), output as never);
    for (const line of ['x'.repeat(4 * 1024 * 1024), 'one', 'two', 'three']) output.write(line);
    await new Promise<void>((lost) => output.write('four', () => lost()));
    while (lines.at(-1) !== '3 entries of the log are lost: the reader of the output did not read.') {
      read();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(lines.slice(1, -1)).toEqual(['one']);
  });

  it('counts what a full disk loses, and says so when there is room again, also after it could not', async () => {
    // The disk takes the lines 3 and 5. Line 4 tells what is lost, and is lost too.
    const isFull = [true, true, false, true, false, false];
    let disk = '';
    const output = new Writable({
      decodeStrings: false,
      write: (line: string, _, written) => {
        if (isFull.shift()) return written(Object.assign(new Error('full'), { code: 'ENOSPC' }));
        disk += line;
        written();
      },
      // As the outputs of a process do.
      destroy(error, destroyed) {
        destroyed(error);
        (this as Writable & { _undestroy(): void })._undestroy();
      },
    });
    neverFail((sentence) => void output.write(`${sentence}\n`), output as never);
    for (const line of ['one', 'two', 'three', 'four']) {
      await new Promise<void>((settled) => output.write(`${line}\n`, () => settled()));
    }
    await eventually(() => disk.includes('lost'));
    expect(disk).toBe(
      '\nthree\n\nfour\n2 entries of the log are lost: the output could not be written (ENOSPC).\n',
    );
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
