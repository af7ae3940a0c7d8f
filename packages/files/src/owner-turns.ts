/**
 * Whose turn it is, for queues that have their items from the same owners: the owner whose last turn is longest ago. An owner
 * who comes anew is before the one who had the last turn, and after all others. So nobody waits for two items of another
 * owner, nor for ever because new owners keep coming.
 */
export class OwnerTurns {
  readonly #owners = new Map<string, { last: number; items: number }>();
  #turns = 0;

  /** An item of the owner waits. */
  join(owner: string): void {
    const known = this.#owners.get(owner) ?? { last: this.#turns - 0.5, items: 0 };
    known.items += 1;
    this.#owners.set(owner, known);
  }

  /** It is the turn of an item of the owner. */
  take(owner: string): void {
    this.#turns += 1;
    this.#owners.get(owner)!.last = this.#turns;
  }

  /** An item neither waits nor has its turn any more. The owner is forgotten with the last one. */
  leave(owner: string): void {
    const known = this.#owners.get(owner)!;
    known.items -= 1;
    if (known.items === 0) this.#owners.delete(owner);
  }

  /** Of owners who have joined, the one with the next turn. */
  first(owners: Iterable<string>): string | undefined {
    let first: string | undefined;
    for (const owner of owners)
      if (first === undefined || this.#last(owner) < this.#last(first)) first = owner;
    return first;
  }

  #last(owner: string): number {
    return this.#owners.get(owner)!.last;
  }
}
