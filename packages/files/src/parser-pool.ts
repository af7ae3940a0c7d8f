import { performance } from 'node:perf_hooks';
import { Logger } from '@nestjs/common';
import { linesForLog, removeAbandonedDirectories } from 'nest-agent-query/agents';
import type { FilePart } from 'nest-agent-query';
import { FairQueue } from './fair-queue.js';
import type { Turn } from './fair-queue.js';
import { checkLimits } from './files-limits.js';
import type { FilesLimits } from './files-limits.js';
import { OwnerTurns } from './owner-turns.js';
import { ParserChild } from './parser-child.js';
import type { ParserOutcome } from './parser-child.js';
import { ParserJob } from './parser-job.js';
import type { ParserRequest, Question } from './parser-protocol.js';
import { secondsOf } from './requested-file.js';

/** Bytes of a file for which one more second is added to its time limit. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;
/** Milliseconds after its time limit in which a process may say what it knows. */
const GRACE_MS = 1000;
/** Milliseconds after which a file counts as one that takes long. An ordinary one takes some ten. */
const LONG_MS = 300;
/** The same for a file whose owner has no other process. A busy machine may take so long for an ordinary one. */
const LONG_ALONE_MS = 1000;
/** Milliseconds between two checks whether a file that takes long must give way. */
const TURN_CHECK_MS = 50;
/** Milliseconds after which an idle process ends. */
const IDLE_MS = 10_000;

/** A file that a process works on. */
interface Running {
  job: ParserJob;
  child: ParserChild;
  /** When its process began with it, which may have to start first. */
  since: number;
  /** Whether it takes long and keeps its process until its end. */
  isKept: boolean;
  /** Why the pool has ended the process. */
  stopped?: 'time' | 'cancelled' | 'gave way';
}

/**
 * A few processes that parse files, one file at a time each, and are used again. A file can do nothing worse than end its
 * process, which is one sentence in one answer.
 *
 * Owners take turns, and the runs of one owner have equal shares. A file that takes long does not hold up the others: one of the
 * processes is always left to files that have not had a turn. If such a file waits, and all processes work on files
 * that take long, the newest of these gives way and is read again from its beginning later. Then it keeps its process. So a
 * file waits for one file of each other owner at most, once for those that have not had a turn, and once for those that take
 * long. A file that takes a little longer is not interrupted for an owner who has as many processes as its own.
 */
export class ParserPool {
  static readonly #logger = new Logger('ParserPool');

  readonly #turns = new OwnerTurns();
  /** Files that have not had a turn, and files that gave way to them. */
  readonly #fresh = new FairQueue<ParserJob>(this.#turns);
  readonly #postponed = new FairQueue<ParserJob>(this.#turns);
  readonly #running = new Set<Running>();
  readonly #idle: { child: ParserChild; timer: NodeJS.Timeout }[] = [];
  /** Settles when what processes left at a crash is removed. It begins with the first file. */
  #cleaned: Promise<void> | undefined;
  #turnTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * @param idleMs how long an idle process waits for another file
   * @throws {RangeError} if a limit is out of its range
   */
  constructor(
    private readonly limits: FilesLimits,
    private readonly idleMs = IDLE_MS,
  ) {
    checkLimits(limits);
  }

  /** Answers a question about files as soon as it is its turn. The job has the answer. */
  ask(question: Question, files: FilePart[], { owner, runId }: Turn): ParserJob {
    // An error of the directory concerns what is written there, and no file that is parsed.
    this.#cleaned ??= removeAbandonedDirectories().catch(() => undefined);
    const job = new ParserJob(owner, runId, question, files, (cancelled) => this.#cancel(cancelled));
    if (this.#isClosed) job.end();
    else this.#fresh.add(job);
    this.#dispatch();
    return job;
  }

  /** Ends all processes at once. Jobs end without an answer. Can be called again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#turnTimer);
    const children = [...this.#running, ...this.#idle].map(({ child }) => child);
    for (const { job } of this.#running) job.cancel();
    for (const { timer } of this.#idle.splice(0)) clearTimeout(timer);
    for (const queue of [this.#fresh, this.#postponed]) {
      for (let job = queue.take(); job; job = queue.take()) job.end();
    }
    for (const child of children) child.kill();
    await Promise.all([this.#cleaned, ...children.map((child) => child.ended())]);
  }

  #dispatch(): void {
    while (this.#running.size < this.limits.processes) {
      const job = this.#next();
      if (!job) break;
      void this.#run(job);
    }
    this.#watchTurns();
  }

  /** Files that gave way come first while there is room for files that take long: otherwise they might wait for ever. */
  #next(): ParserJob | undefined {
    const kept = [...this.#running].filter(({ isKept }) => isKept).length;
    const hasRoom = kept < Math.max(1, this.limits.processes - 1) || this.#fresh.size === 0;
    return (hasRoom ? this.#postponed.take() : undefined) ?? this.#fresh.take();
  }

  async #run(job: ParserJob, child = this.#takeChild()): Promise<void> {
    const { hasWorked } = child;
    const running: Running = { job, child, since: Infinity, isKept: job.isPostponed };
    this.#running.add(running);
    job.begin();
    const request = this.#requestFor(job);
    const { seconds } = request.limits;
    let timer: NodeJS.Timeout | undefined;
    const onBegin = () => {
      running.since = performance.now();
      timer = setTimeout(() => stop(running, 'time'), seconds * 1000 + GRACE_MS);
    };
    const files = job.files.map(({ file }) => file);
    const outcome = await child.execute(request, files, {
      onBegin,
      onPiece: (piece) => job.add(piece),
      onFetched: (bytes) => job.fetched(bytes),
    });
    clearTimeout(timer);
    this.#running.delete(running);
    await this.#keep(child, outcome);
    // A process that was ended after its last word has answered.
    const stopped = outcome.type === 'died' ? running.stopped : undefined;
    // An idle process may have died unnoticed. This file is not to blame for it.
    const isInnocent = hasWorked && outcome.type === 'died' && !outcome.isOutOfMemory && !job.hasText;
    if (isInnocent && !stopped && !this.#isClosed) {
      return this.#run(job, new ParserChild(this.limits.memoryMiB));
    }
    if (stopped === 'gave way') this.#postpone(job);
    else if (stopped === 'time') conclude(job, exceeds(job, secondsOf(seconds), 'it'));
    else if (outcome.type === 'done') job.end({ ...outcome.attachments, file: outcome.file });
    else if (outcome.type === 'died' && outcome.isStopped) job.interrupt();
    else conclude(job, this.#sentenceFor(job, outcome));
    this.#turns.leave(job.owner);
    this.#dispatch();
  }

  #requestFor({ question, files, size }: ParserJob): ParserRequest {
    const labels = files.map(({ name, mimeType, file }) => ({ name, mimeType, size: file.size }));
    const seconds = this.limits.seconds + size / BYTES_PER_SECOND;
    return { question, files: labels, limits: { ...this.limits, seconds } };
  }

  #takeChild(): ParserChild {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (idle.child.isAlive) return idle.child;
    }
    return new ParserChild(this.limits.memoryMiB);
  }

  /** Keeps a process for the next file, unless the last one has left too little memory to it. */
  async #keep(child: ParserChild, outcome: ParserOutcome): Promise<void> {
    const left = 'resident' in outcome ? outcome.resident - (await child.residentAtStart()) : 0;
    if (this.#isClosed || !child.isAlive || left > (this.limits.memoryMiB * 1024 * 1024) / 3) {
      return child.kill();
    }
    const timer = setTimeout(() => {
      this.#idle.splice(this.#idle.indexOf(entry), 1);
      child.kill();
    }, this.idleMs);
    timer.unref();
    const entry = { child, timer };
    this.#idle.push(entry);
  }

  #postpone(job: ParserJob): void {
    job.isPostponed = true;
    if (job.isEnded) return;
    this.#postponed.add(job);
  }

  #cancel(job: ParserJob): void {
    this.#fresh.remove(job);
    this.#postponed.remove(job);
    for (const running of this.#running) if (running.job === job) stop(running, 'cancelled');
  }

  /** While a file waits that has not had a turn, all processes must not be busy with files that take long. */
  #watchTurns(): void {
    clearTimeout(this.#turnTimer);
    if (this.#fresh.size === 0 || this.limits.processes === 1) return;
    this.#turnTimer = setTimeout(() => {
      this.#makeRoom();
      this.#watchTurns();
    }, TURN_CHECK_MS);
  }

  /** The newest file gives way, and the others keep their processes, so that they come to an end. */
  #makeRoom(): void {
    const running = [...this.#running];
    const newest = running.findLast(({ isKept }) => !isKept) ?? running.at(-1);
    if (!newest || !running.every((each) => isLong(each))) return;
    const { owner } = newest.job;
    const processes = (name: string) => running.filter(({ job }) => job.owner === name).length;
    const isAhead = (name: string) => name === owner || processes(name) < processes(owner);
    const hasMore = processes(owner) > 1 && this.#fresh.owners.some(isAhead);
    if (!isLong(newest, hasMore ? LONG_MS : LONG_ALONE_MS)) return;
    stop(newest, 'gave way');
    for (const other of running) other.isKept = other !== newest;
  }

  /** What the caller is told of an answer that is not complete. */
  #sentenceFor(job: ParserJob, outcome: Exclude<ParserOutcome, { type: 'done' }>): string {
    switch (outcome.type) {
      case 'unreadable':
        return outcome.reason;
      case 'unavailable':
        return 'Its content is not available any more.';
      case 'failed':
        return this.#unexpected(job, outcome.cause);
      case 'died':
        return outcome.isOutOfMemory
          ? exceeds(job, `${this.limits.memoryMiB} MiB of memory`, 'one file')
          : this.#unexpected(job, outcome.cause);
    }
  }

  #unexpected(job: ParserJob, cause: string): string {
    // The cause of a cancelled job is that it was cancelled.
    if (!job.isEnded) ParserPool.#logger.warn(`A file could not be described: ${linesForLog(cause)}`);
    return job.hasText
      ? 'Reading stopped here: the rest of this file could not be read.'
      : job.question.kind === 'describe'
        ? 'This file could not be described: it is broken, or of a kind that is not understood.'
        : 'This request could not be answered: a file is broken, or of a kind that is not understood.';
  }
}

/** What the caller is told of a limit. @param what it is spent on */
function exceeds({ hasText, question }: ParserJob, limit: string, what: string): string {
  if (hasText) return `Reading stopped here: no more than ${limit} are spent on ${what}.`;
  const subject = question.kind === 'describe' ? 'Describing this file' : 'This request';
  return `${subject} takes more than ${limit}, which is more than is spent on ${what}.`;
}

/** Requests that are not found are no part of an answer. */
function conclude(job: ParserJob, sentence: string): void {
  if (job.question.kind !== 'suggest') job.add(job.hasText ? `\n\n${sentence}` : sentence);
  job.end();
}

function isLong({ isKept, since }: Running, milliseconds = LONG_MS): boolean {
  return isKept || performance.now() - since > milliseconds;
}

/** Ends the process of a file. The first cause decides. */
function stop(running: Running, cause: NonNullable<Running['stopped']>): void {
  running.stopped ??= cause;
  running.child.kill();
}
