import { Worker } from 'node:worker_threads';

/** What a statement returned: rows, or how many rows it changed. */
export interface Answer {
  rows?: unknown[];
  changes?: number;
}

type Reply = [id: number, answer: Answer | undefined, error: { message: string; code: string } | undefined];

interface PendingStatement {
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/** The thread that executes the statements (`sqlite-worker.js`), as the main thread sees it. */
export class SqliteThread {
  readonly #pending = new Map<number, PendingStatement>();
  #lastId = 0;
  #failure: Error | undefined;

  private constructor(private readonly worker: Worker) {
    worker.on('message', ([id, answer, error]: Reply) => {
      const statement = this.#pending.get(id);
      this.#pending.delete(id);
      if (this.#pending.size === 0) worker.unref();
      if (error) statement?.reject(Object.assign(new Error(error.message), { code: error.code }));
      else statement?.resolve(answer!);
    });
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', () => this.#fail(new Error('The database was closed.')));
  }

  /**
   * Starts a thread that opens a file.
   *
   * @throws the error of SQLite, if it cannot open the file
   */
  static async start(path: string): Promise<SqliteThread> {
    const thread = new SqliteThread(
      new Worker(new URL('./sqlite-worker.js', import.meta.url), { workerData: path }),
    );
    await thread.execute('select 1', []);
    return thread;
  }

  /**
   * Executes one statement.
   *
   * @throws the error of SQLite, with its `code` (`SQLITE_…`); an Error if the thread has ended
   */
  execute(text: string, parameters: readonly unknown[]): Promise<Answer> {
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#pending.set(++this.#lastId, { resolve, reject });
      // The thread keeps the process running only while a statement is pending, so that an open store does not prevent
      // the process from ending.
      this.worker.ref();
      this.worker.postMessage([this.#lastId, text, parameters]);
    });
  }

  /** Ends the thread. Pending statements reject. */
  async end(): Promise<void> {
    await this.worker.terminate();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }
}
