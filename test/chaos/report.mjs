/** The most failures that are printed. */
const PRINTED = 40;

/** What a program has found, for its last lines and its exit code. */
export class Report {
  failures = 0;
  readyMs = [];
  counts = { cases: 0, missed: 0, injected: 0, runs: 0, received: 0 };
  injectedBy = {};

  /** The check of one case: it is called with a condition that must hold, and with what is wrong if it does not. */
  checkOf(fault) {
    const name = JSON.stringify(fault);
    return (condition, what) => {
      if (condition) return;
      this.failures++;
      if (this.failures <= PRINTED) console.error(`${name}: ${what}`);
    };
  }

  /**
   * Counts a case.
   *
   * @param kind what the injected faults are counted by
   * @param ready how long the service took to be ready again, in milliseconds
   */
  count(kind, injected, runs, ready) {
    const { counts, injectedBy } = this;
    counts.cases++;
    if (injected === 0) counts.missed++;
    counts.injected += injected;
    counts.runs += runs.length;
    counts.received += runs.reduce((sum, { received }) => sum + received.length, 0);
    injectedBy[kind] = (injectedBy[kind] ?? 0) + injected;
    this.readyMs.push(ready);
  }

  /** Prints the figures, and sets the exit code. */
  print(more) {
    const { counts, injectedBy, failures, readyMs } = this;
    console.log(JSON.stringify({ ...counts, ...more, injectedBy }));
    console.log(`ready again after ${Math.max(0, ...readyMs).toFixed(0)} ms at most`);
    console.log(failures === 0 ? 'nothing was lost' : `${failures} failures`);
    process.exitCode = failures === 0 ? 0 : 1;
  }
}
