import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestDatabase } from '../postgres.js';
import { Caller, type SentQuery } from './caller.js';
import { Gates } from './gates.js';
import { Member, type MemberOptions } from './member.js';

/** A note that the agent has made about a call. */
export interface Execution {
  what: 'called' | 'asked' | 'returned' | 'aborted';
  runId: string;
  attempt: number;
  /** The name of the process. */
  process: string;
  at: number;
}

/** A span as `instrumentation.mjs` notes it. */
export interface EndedSpan {
  name: string;
  pid: number;
  traceId: string;
  id: string;
  parent: string | undefined;
  /** The ids of the spans to which it has links. */
  links: string[];
  attributes: Record<string, string | number | boolean>;
}

/** What all processes of a cluster have in common. */
export type ClusterOptions = Omit<MemberOptions, 'name' | 'database' | 'journal' | 'gates' | 'spans'> & {
  /** Whether its runs are traced. Default false. */
  isTraced?: boolean;
  /** The URL of the database, if it is not that of the server: for example that of a proxy. */
  database?: string;
};

let clusters = 0;

/** Several processes of the service on one Postgres, in a schema of their own, with their callers. */
export class Cluster {
  readonly members: Member[] = [];
  readonly callers: Caller[] = [];
  /** The tables, for the test itself. */
  readonly schema = `cluster_${process.pid}_${++clusters}`;

  private constructor(
    readonly server: TestDatabase,
    readonly gates: Gates,
    readonly directory: string,
    private readonly options: ClusterOptions,
  ) {}

  /** A cluster without processes. */
  static async on(server: TestDatabase, options: ClusterOptions = {}): Promise<Cluster> {
    const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-cluster-'));
    return new Cluster(server, await Gates.start(), directory, options);
  }

  /** Starts a process. */
  async add(name: string, options: ClusterOptions = {}): Promise<Member> {
    const database = new URL(options.database ?? this.options.database ?? this.server.url);
    const { isTraced = false, ...all } = { ...this.options, ...options };
    if (database.protocol !== 'file:') database.searchParams.set('schema', this.schema);
    const member = await Member.start({
      ...all,
      ...(isTraced && { spans: this.#spansFile }),
      name,
      database: database.href,
      journal: this.journal,
      gates: this.gates.url,
    });
    this.members.push(member);
    return member;
  }

  /** How often a run may be executed again. */
  get restarts(): number {
    return this.options.restarts ?? 0;
  }

  get journal(): string {
    return join(this.directory, 'journal');
  }

  get #spansFile(): string {
    return join(this.directory, 'spans');
  }

  /** The process with this name; the newest, if there were several. */
  member(name: string): Member {
    return this.members.findLast((member) => member.name === name)!;
  }

  get running(): Member[] {
    return this.members.filter(({ isRunning }) => isRunning);
  }

  /**
   * Sends a query to the first of these processes, and follows its run. When the stream is cut, the next one is asked. Processes
   * may be added to the list later.
   */
  ask(members: Member | Member[], query: SentQuery = {}): Caller {
    return this.#note(new Caller(listOf(members), query));
  }

  /** Follows a run. */
  follow(members: Member | Member[], runId: string): Caller {
    return this.#note(new Caller(listOf(members), undefined, runId));
  }

  /** The process that executes a run, according to the notes of the agents. */
  async executing(runId: string): Promise<Member> {
    const executions = await this.executions();
    return this.member(executions.findLast((execution) => execution.runId === runId)!.process);
  }

  /** What the agents of all processes have noted. */
  async executions(): Promise<Execution[]> {
    return (await linesOf(this.journal)) as Execution[];
  }

  /** The spans that have ended in all processes, in the order of their ends. A process that is killed loses none of them. */
  async spans(): Promise<EndedSpan[]> {
    return (await linesOf(this.#spansFile)) as EndedSpan[];
  }

  /** The rows that a statement selects. `schema.` before the name of a table stands for the schema of the cluster. */
  async select<Row = Record<string, unknown>>(statement: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.server.url });
    await client.connect();
    try {
      const { rows } = await client.query(statement.replaceAll('schema.', `${this.schema}.`));
      return rows as Row[];
    } finally {
      await client.end();
    }
  }

  /** Ends everything. A process that does not end in order is killed. */
  async close(): Promise<void> {
    for (const caller of this.callers) caller.leave();
    for (const member of this.running) {
      member.wake();
      member.signal('SIGKILL');
    }
    await Promise.all([
      ...this.members.map(({ exited }) => exited),
      ...this.callers.map(({ ended }) => ended),
    ]);
    await this.gates.close();
    await rm(this.directory, { recursive: true });
  }

  #note(caller: Caller): Caller {
    this.callers.push(caller);
    return caller;
  }
}

function listOf(members: Member | Member[]): Member[] {
  return Array.isArray(members) ? members : [members];
}

/** The values in a file that has one as JSON in each line; none if there is no file yet. */
async function linesOf(path: string): Promise<unknown[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}
