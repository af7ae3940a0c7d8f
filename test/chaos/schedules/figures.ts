/** What the schedules have done so far. */
export class Figures {
  schedules = 0;
  readonly commands: Record<string, number> = {};
  readonly faults: Record<string, number> = {};
  readonly answers: Record<string, number> = {};

  count(kind: 'commands' | 'faults' | 'answers', name: string | number): void {
    this[kind][name] = (this[kind][name] ?? 0) + 1;
  }
}
