import type { Redis } from 'ioredis';
import type { TurnAnswer } from 'nest-agent-query';
import { KeptAnswer } from 'nest-agent-query/store-rules';
import type { RedisSteps } from './redis-steps.js';
import { entryOf, type StoredRun, type StoredTurn } from './stored-run.js';

/** What one read of a log returns at most, unless its first envelope has more characters. */
const SLICE = { length: 64 * 1024, envelopes: 200 };

/** Reads what only Redis has: logs and turns. */
export class RedisReads {
  constructor(
    private readonly redis: Redis,
    private readonly steps: RedisSteps,
  ) {}

  /** What the log has of the answer, without what is void. */
  async answerOf(run: StoredRun): Promise<TurnAnswer> {
    const answer = new KeptAnswer();
    for (let seq = 0; seq < run.lastSeq;) {
      const entries = await this.entries(run, seq);
      answer.addLines(entries.map(({ text }) => text).join('\n'), seq + 1, run.voided);
      seq += entries.length;
    }
    return answer.value;
  }

  /** A part of the log, for a follower or a run: both wait for the end of an outage. */
  async entries({ id, lastSeq }: StoredRun, after: number): Promise<ReturnType<typeof entryOf>[]> {
    const found = await this.redis.lrange(`log:${id}`, after, after + SLICE.envelopes - 1);
    const entries = found.slice(0, Math.max(0, lastSeq - after)).map(entryOf);
    let length = 0;
    return entries.filter(({ text }, index) => (length += text.length) <= SLICE.length || index === 0);
  }

  /** The run as its log is. A run is not written again when its log grows: its query may be long. */
  async withEndOfLog(run: StoredRun): Promise<StoredRun> {
    const lastSeq = await this.redis.llen(`log:${run.id}`);
    const last = await this.redis.lindex(`log:${run.id}`, -1);
    return { ...run, lastSeq, endOffset: last === null ? 0 : entryOf(last).endOffset };
  }

  /** @throws {QueryError} `unavailable`: Redis is away */
  async turns(runIds: readonly string[]): Promise<StoredTurn[]> {
    this.steps.check();
    const texts = runIds.length === 0 ? [] : await this.redis.hmget('turns', ...runIds);
    return texts.flatMap((text) => (text === null ? [] : (JSON.parse(text) as StoredTurn)));
  }
}
