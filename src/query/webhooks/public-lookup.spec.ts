import fc from 'fast-check';
import { casesOf } from '../../../test/support/long-form.js';
import { isPublic, PrivateAddress, refusePrivate } from './public-lookup.js';

const byte = fc.integer({ min: 0, max: 255 });
const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
const v4 = (...first: (number | fc.Arbitrary<number>)[]) =>
  fc
    .tuple(
      ...[...first, byte, byte, byte]
        .slice(0, 4)
        .map((each) => (typeof each === 'number' ? fc.constant(each) : each)),
    )
    .map((bytes) => bytes.join('.'));
const v6 = (first: fc.Arbitrary<string>) =>
  fc
    .tuple(first, fc.array(group, { minLength: 7, maxLength: 7 }))
    .map(([one, rest]) => [one, ...rest].join(':'));
const between = (min: number, max: number) => fc.integer({ min, max });
const hex = (min: number, max: number) => between(min, max).map((value) => value.toString(16));

/** What is not public, by RFC 6890 and what it was updated with. */
const NOT_PUBLIC: Record<string, fc.Arbitrary<string>> = {
  'this network': v4(0),
  loopback: v4(127),
  'private, 10/8': v4(10),
  'private, 172.16/12': v4(172, between(16, 31)),
  'private, 192.168/16': v4(192, 168),
  'link-local': v4(169, 254),
  'shared, 100.64/10': v4(100, between(64, 127)),
  multicast: v4(between(224, 239)),
  reserved: v4(between(240, 255)),
  'unique local in IPv6': v6(hex(0xfc00, 0xfdff)),
  'link-local in IPv6': v6(hex(0xfe80, 0xfebf)),
  'multicast in IPv6': v6(hex(0xff00, 0xffff)),
  'loopback in IPv6': fc.constantFrom('::1', '0:0:0:0:0:0:0:1', '::'),
  'of a translator': v4(between(1, 9)).map((address) => `64:ff9b::${address}`),
};

describe('An address', () => {
  it.each(Object.entries(NOT_PUBLIC))('that is %s is not public', (_, addresses) => {
    fc.assert(
      fc.property(addresses, (address) => {
        const mapped = address.includes(':') ? [] : [`::ffff:${address}`];
        for (const each of [address, ...mapped]) {
          expect(isPublic(each)).toBe(false);
          expect(() => refusePrivate(each.includes(':') ? `[${each}]` : each)).toThrow(PrivateAddress);
        }
      }),
      { numRuns: casesOf(100) },
    );
  });

  it('of the Internet is public, and names are not judged before they are resolved', () => {
    for (const address of ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])
      expect(isPublic(address)).toBe(true);
    for (const host of ['localhost', 'example.com', '8.8.8.8', '[2606:4700::1111]'])
      expect(() => refusePrivate(host)).not.toThrow();
  });
});
