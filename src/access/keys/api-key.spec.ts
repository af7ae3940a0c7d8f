import { apiKeysOf, apiKeysOfFile, createApiKey, digestOf } from './api-key.js';

const [A, B] = ['a'.repeat(64), 'b'.repeat(64)];

describe('The text form of API keys', () => {
  it('has entries with a name and a digest', () => {
    expect(apiKeysOf(`ann:${A}, b.o-b_1:${B.toUpperCase()}\n`)).toEqual([
      { name: 'ann', sha256: A },
      { name: 'b.o-b_1', sha256: B },
    ]);
    expect([apiKeysOf(''), apiKeysOf(' \n'), apiKeysOf(undefined)]).toEqual([[], [], []]);
  });

  it.each([
    [`ann:${A},`, /^entry 2 must be name:sha256, where the name has 1 to 64 letters/],
    [`ann`, /^entry 1 must be name:sha256, where sha256 has 64 hexadecimal digits\.$/],
    [`ann:${A}0`, /^entry 1 must be .* sha256 has 64 hexadecimal digits\.$/],
    [`ann:${A}:${B}`, /^entry 1 must be .* sha256 has 64 hexadecimal digits\.$/],
    [`ann:${'g'.repeat(64)}`, /^entry 1 must be .* sha256 has 64 hexadecimal digits\.$/],
    [`${'n'.repeat(65)}:${A}`, /^entry 1 must be .* the name has/],
    [`an n:${A}`, /^entry 1 must be .* the name has/],
    [`ann:${A},ann:${B}`, /^entry 2 has the same name as entry 1\.$/],
    [`ann:${A},bob:${A.toUpperCase()}`, /^entry 2 has the same digest as entry 1\.$/],
    [`x,y:${A},z`, /^entry 1 must be [^]* entry 3 must be /],
  ])('refuses %j, and names the entry', (text, fault) => {
    expect(() => apiKeysOf(text)).toThrow(fault);
  });

  it('never shows what could be a key', () => {
    const { key } = createApiKey('ann');
    for (const text of [key, `${key}:${A}`, `ann:${key}`, `ann:${A}${key}`, `${key},${key}`]) {
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
    expect(() => apiKeysOfFile(`# Keys\n\nann:${A}\nann:${B}`)).toThrow(
      'line 4 has the same name as line 3.',
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
