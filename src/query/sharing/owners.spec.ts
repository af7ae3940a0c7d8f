import { type OwnerOfModule, ownerOfModule, storedOwner } from './owners.js';

describe('The owner of a module', () => {
  const OWNERS = ['', 'ann', '\0', '\0ann', '\0research', '\0research\0ann', '\0\0ann', 'ann\0research'];
  const ALL = ['', 'research', 'ann'].flatMap((module) => OWNERS.map((owner) => ({ module, owner })));

  const stored = ({ module, owner }: OwnerOfModule) => storedOwner(module, owner);

  it('is different in the store from every owner of another module', () => {
    expect(new Set(ALL.map(stored)).size).toBe(ALL.length);
  });

  it('is read back from the store', () => {
    for (const each of ALL) expect(ownerOfModule(stored(each))).toEqual(each);
  });

  it('is unchanged in the store for the module without a name', () => {
    expect(storedOwner('', 'ann')).toBe('ann');
  });
});
