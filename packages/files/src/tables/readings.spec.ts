import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FilesLimits } from '../files-limits.js';
import { literal, TableEngine } from './engine.js';
import { isLeftToEngine, READINGS } from './readings.js';
import { Workspace } from './workspace.js';

/** Cells of each type, and cells that are nearly of one. */
const CELLS = [
  ...[
    'true',
    'FALSE',
    'yes',
    '0',
    '-0',
    '+5',
    '007',
    '12',
    '-345',
    '999999999999999',
    '5.',
    '.5',
    '-.5',
    '1e3',
  ],
  ...[
    '1E-3',
    '1e400',
    '1.2.3',
    '--1',
    '+1234567',
    '+4930123456',
    '1,234',
    '1,23',
    '12,345.6',
    '1234,5',
    '1.234',
  ],
  ...[
    '1.234,5',
    '1,5',
    ',5',
    '1 234',
    '1\u00a0234,5',
    '1\u202f234',
    '1 23',
    "1'234.5",
    '1’234',
    '12%',
    '12.5 %',
  ],
  ...[
    '12,5%',
    '5%%',
    '%',
    '$5',
    '$ 1,234.5',
    '-$5',
    '$-5',
    '($5)',
    '$',
    '5 €',
    '1.234,5 €',
    '€5',
    '£5',
    '¥500',
  ],
  ...[
    '(5)',
    '(1,234.5)',
    '(5',
    '5)',
    '2024-01-02',
    '2024-02-30',
    '2024-1-2',
    '2024-01-02T10:00',
    '2024-01-02 10:00:00',
  ],
  ...[
    '2024-01-02T24:00',
    '2024-01-02T10:60',
    '2024-01-02T10:00:00Z',
    '2024-01-02T10:00:00.5+02:00',
    '10:05',
    '9:05:07',
  ],
  ...[
    '24:00',
    '9:5',
    '10:05:07.123',
    '2024/01/02',
    '2024.1.2',
    '2024/13/01',
    '2024/01/02 9:05',
    '02-Jan-2024',
    '3 May 2024',
  ],
  ...[
    '31-Apr-2024',
    '1-september-2024',
    'Jan 1 2000',
    'January 5, 2024',
    'May 5, 2024 1:59 PM',
    'Sept 1 2024',
    '25/3/2024',
  ],
  ...[
    '3/25/2024',
    '3.4.2024',
    '3-4-2024',
    '31/02/2024',
    '3/25/2024 11:59 AM',
    '3/25/2024 13:05 PM',
    '25/3/2024 0:05 AM',
  ],
  ...['03/04/24', 'x', 'é', 'NaN', 'inf', 'Infinity', '0x10', '1_000', "it's", '$5 and more', '5 %x', '１２'],
];

describe('How a cell is read', () => {
  it('is the same with and without the engine', async () => {
    const workspace = new Workspace(join(tmpdir(), `nest-agent-query-readings-${process.pid}`));
    const engine = await TableEngine.open(workspace, [], new FilesLimits());
    for (const cell of CELLS) {
      expect([cell, isLeftToEngine(cell)]).toEqual([cell, false]);
      const tests = READINGS.map(({ test }) => `coalesce(${test(literal(cell))}, false)`);
      const areRead = READINGS.map(({ read }) => read(cell) !== undefined);
      expect([cell, await engine.row(`select ${tests.join(', ')}`)]).toEqual([cell, areRead]);
    }
    engine.close();
    await rm(workspace.directory, { recursive: true });
  });
});
