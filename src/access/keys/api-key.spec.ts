import {
  apiKeysOf,
  apiKeysOfFile,
  checkedKeys,
  createApiKey,
  digestOf,
  expiryOf,
  textOfKey,
} from './api-key.js';

const [A, B] = ['a'.repeat(64), 'b'.repeat(64)];

describe('The text form of API keys', () => {
  it('has entries with a name and a digest', () => {
    expect(apiKeysOf(`ann:${A}, b.o-b_1:${B.toUpperCase()}\n`)).toEqual([
      { name: 'ann', sha256: A },
      { name: 'b.o-b_1', sha256: B },
    ]);
    expect([apiKeysOf(''), apiKeysOf(' \n'), apiKeysOf(undefined)]).toEqual([[], [], []]);
  });

  it('may have several keys of a name, and a time at which one expires', () => {
    const keys = [
      { name: 'ann', sha256: A, expires: '2027-01-31' },
      { name: 'ann', sha256: B, expires: '2027-01-31T18:00:00+02:00' },
    ];
    expect(apiKeysOf(`ann:${A}:2027-01-31,ann:${B}:2027-01-31T18:00:00+02:00`)).toEqual(keys);
    expect(apiKeysOf(keys.map(textOfKey).join())).toEqual(keys);
    expect(checkedKeys(keys)).toEqual(keys);
  });

  it.each([
    ['2027-01-31', '2027-02-01T00:00:00.000Z'],
    ['2028-02-29', '2028-03-01T00:00:00.000Z'],
    ['2027-01-31T18:00:00Z', '2027-01-31T18:00:00.000Z'],
    ['2027-01-31t18:00:00.25z', '2027-01-31T18:00:00.250Z'],
    ['2027-01-31T00:30:00+02:00', '2027-01-30T22:30:00.000Z'],
  ])('reads that a key with %s ends at %s', (expires, end) => {
    expect(new Date(expiryOf(expires)).toISOString()).toBe(end);
  });

  it.each([
    ...['', '2027', '2027-02-29', '2027-13-01', '2027-01-31T', '2027-01-31T18:00', '2027-01-31T18:00:00'],
    ...[
      '2027-01-31T24:00:00Z',
      '2027-01-31T18:60:00Z',
      '2027-01-31T18:00:00+25:00',
      ' 2027-01-31',
      '1893456000',
    ],
    ...['2027-01-31:2027-01-31', 'never'],
  ])('refuses %j as the end of a key', (expires) => {
    const rule =
      'entry 1 must be name:sha256 or name:sha256:expiry, where expiry is a day such as 2027-01-31, or a time such as ' +
      '2027-01-31T18:00:00Z.';
    expect(() => apiKeysOf(`ann:${A}:${expires}`)).toThrow(new TypeError(rule));
    expect(() => checkedKeys([{ name: 'ann', sha256: A, expires }])).toThrow(/^key 1 must be /);
  });

  it.each([
    [`ann:${A},`, /^entry 2 must be name:sha256, where the name has 1 to 64 letters/],
    [`ann`, /^entry 1 must be name:sha256, where sha256 has 64 hexadecimal digits\.$/],
    [`ann:${A}0`, /^entry 1 must be .* sha256 has 64 hexadecimal digits\.$/],
    [`ann:${A}:${B}`, /^entry 1 must be .* where expiry is a day such as 2027-01-31, or a time .*\.$/],
    [`ann:${'g'.repeat(64)}`, /^entry 1 must be .* sha256 has 64 hexadecimal digits\.$/],
    [`${'n'.repeat(65)}:${A}`, /^entry 1 must be .* the name has/],
    [`an n:${A}`, /^entry 1 must be .* the name has/],
    [`ann:${A},ann:${A}`, /^entry 2 has the same digest as entry 1\.$/],
    [`ann:${A},ann:${A}:2027-01-31`, /^entry 2 has the same digest as entry 1\.$/],
    [`ann:${A},bob:${A.toUpperCase()}`, /^entry 2 has the same digest as entry 1\.$/],
    [`x,y:${A},z`, /^entry 1 must be [^]* entry 3 must be /],
  ])('refuses %j, and names the entry', (text, fault) => {
    expect(() => apiKeysOf(text)).toThrow(fault);
  });

  it('never shows what could be a key', () => {
    const { key } = createApiKey('ann');
    for (const text of [
      key,
      `${key}:${A}`,
      `ann:${key}`,
      `ann:${A}${key}`,
      `ann:${A}:${key}`,
      `${key},${key}`,
    ]) {
      const attempt = () => apiKeysOf(text);
      expect(attempt).toThrow(TypeError);
      expect(attempt).not.toThrow(key);
      expect(attempt).not.toThrow(A);
    }
  });
});

describe('The file of API keys', () => {
  it('has one key in each line', () => {
    const text = `\uFEFF# Keys\r\n\r\nann:${A}\r\n  # another\n\tbob:${B}  \n\n`;
    expect(apiKeysOfFile(text).map(({ name }) => name)).toEqual(['ann', 'bob']);
    expect(apiKeysOfFile('# none\n')).toEqual([]);
  });

  it('names faulty lines, but not all of many', () => {
    expect(() => apiKeysOfFile(`# Keys\n\nann:${A}\nbob:${A}`)).toThrow(
      'line 4 has the same digest as line 3.',
    );
    expect(() => apiKeysOfFile('x\n'.repeat(1_000))).toThrow(/^line 1 must [^]* And 990 more faults\.$/);
  });
});

describe('A generated key', () => {
  it('has a prefix and 32 random bytes, and its digest is configured', () => {
    const { key, configured } = createApiKey('ann');
    expect(key).toMatch(/^naq_[\w-]{43}$/);
    expect(Buffer.from(key.slice(4), 'base64url')).toHaveLength(32);
    expect(configured).toEqual({ name: 'ann', sha256: digestOf(key).toString('hex') });
    expect(createApiKey('ann').key).not.toBe(key);
  });
});
