import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import process from 'node:process';

/** Requests, which end by themselves, also those of Jest. Node keeps each FileHandleReadWrap for its next use. */
const TRANSIENT =
  /^(?:Immediate|FS\w+|FileHandle\w+|ConnectWrap|WriteWrap|ShutdownWrap|\w+ReqWrap|\w+WrapReq|CloseReq)$/;

/** What stays open, as `process.getActiveResourcesInfo()` names it. */
const NAMES = {
  TCPServerWrap: 'a server that listens',
  TCPSocketWrap: 'a socket',
  Timeout: 'a timer',
  ProcessWrap: 'a child process',
  PipeWrap: 'a pipe, such as to a child process',
};

/** Finds what is open besides what was open at its start. */
export class LeakCheck {
  #handles = [];
  #spools = [];
  #workers = 0;
  #children = new Set();
  #countWorker = ({ worker }) => {
    this.#workers++;
    worker.once('exit', () => this.#workers--);
  };

  #addChild = ({ process: child }) => {
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
  };

  async start() {
    subscribe('worker_threads', this.#countWorker);
    subscribe('child_process', this.#addChild);
    this.#spools = await spoolDirectories();
    this.#handles = openHandles();
    // What Jest opens for a moment must not hide a leak of the same kind.
    for (let tick = 0; tick < 20; tick++) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#handles = common(this.#handles, openHandles());
    }
  }

  stop() {
    unsubscribe('worker_threads', this.#countWorker);
    unsubscribe('child_process', this.#addChild);
  }

  /** Ends the child processes that a failed test has left: they would hold the outputs of Jest, which then does not end. */
  endChildren() {
    // Those that do not keep this process alive are for later suites, too.
    for (const child of this.#children) if (child._handle?.hasRef()) child.kill('SIGKILL');
  }

  /** Waits until nothing is left, for so many milliseconds at most; returns the names of what is left then. */
  async leaksAfter(milliseconds) {
    const deadline = Date.now() + milliseconds;
    for (let looks = 0; ; looks++) {
      const leaks = await this.#leaks();
      if (leaks.length === 0 || Date.now() >= deadline) return leaks;
      await new Promise((resolve) => (looks < 20 ? setImmediate(resolve) : setTimeout(resolve, 2)));
    }
  }

  async #leaks() {
    const handles = without(openHandles(), this.#handles);
    const spools = without(await spoolDirectories(), this.#spools);
    return [
      ...handles.map((name) => NAMES[name] ?? `an open handle (${name})`),
      ...Array.from({ length: this.#workers }, () => 'a worker thread'),
      ...spools.map((name) => `the spool directory ${name}`),
    ];
  }
}

function openHandles() {
  return process.getActiveResourcesInfo().filter((name) => !TRANSIENT.test(name));
}

/** The spool directories of this process in the directory for temporary files. */
async function spoolDirectories() {
  const isOwn = new RegExp(`^nest-agent-query-[0-9a-f]{8}-${process.pid}-`);
  return (await readdir(tmpdir())).filter((name) => isOwn.test(name));
}

function common(list, other) {
  return without(list, without(list, other));
}

/** The elements of a list besides those of another; equal ones are counted. */
function without(list, other) {
  const rest = [...other];
  return list.filter((element) => {
    const index = rest.indexOf(element);
    if (index >= 0) rest.splice(index, 1);
    return index < 0;
  });
}
