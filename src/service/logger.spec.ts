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
    const outputs = new Outputs(process.stdout);
    new ServiceLogger('json', 'info', outputs).log(entry, 'Query');
    outputs.write();
    new ConsoleLogger({ json: true }).log(entry, 'Query');
    new ServiceLogger('json', 'warn', outputs).log(entry, 'Query');
    outputs.write();
    new ServiceLogger('text', 'info', outputs).log(entry, 'Query');
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

  it('has entries of queries in their order, those of 10 ms in one text', () => {
    const texts: string[] = [];
    const output = {
      cork: () => texts.push('held'),
      uncork: () => texts.push('written'),
      write: (text: string) => texts.push(text) > 0,
    };
    const write = jest.spyOn(process.stdout, 'write').mockImplementation(output.write as never);
    const outputs = new Outputs(output);
    const logger = new ServiceLogger('json', 'info', outputs);
    for (const run of ['r1', 'r2']) logger.log(new LogEntry('Run ended:', { run }), 'Query');
    logger.log('The database is back after 1.5 s.', 'Database');
    logger.log(new LogEntry('Run ended:', { run: 'r3' }), 'Query');
    logger.warn('A connection was lost.', 'Database');
    write.mockRestore();
    const shown = texts.map((text) => text.replace(/.*?"message":(.*),"context".*\n/g, '$1 '));
    expect(shown).toEqual([
      'held',
      '{"run":"r1"} {"run":"r2"} ',
      '"The database is back after 1.5 s." ',
      '{"run":"r3"} ',
      'written',
      '"A connection was lost." ',
    ]);
  });

  it('counts each entry of a text that is lost', async () => {
    const warnings: string[] = [];
    let isFull = true;
    const output = new Writable({
      decodeStrings: false,
      write: (_: string, __, written) =>
        written(isFull ? Object.assign(new Error('full'), { code: 'ENOSPC' }) : null),
      destroy(error, destroyed) {
        destroyed(error);
        (this as Writable & { _undestroy(): void })._undestroy();
      },
    });
    neverFail((sentence) => warnings.push(sentence), output as never);
    await new Promise<void>((settled) => output.write('{"run":"r1"}\n{"run":"r2"}\n', () => settled()));
    isFull = false;
    await new Promise<void>((settled) => output.write('{"run":"r3"}\n', () => settled()));
    expect(warnings).toEqual(['2 entries of the log are lost: the output could not be written (ENOSPC).']);
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
