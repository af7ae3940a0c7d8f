import { performance } from 'node:perf_hooks';
import type { DuckDBConnection, DuckDBInstance, DuckDBType, DuckDBValueConverter } from '@duckdb/node-api';
import type { FilesLimits } from '../files-limits.js';
import { secondsOf } from '../requested-file.js';
import { UnreadableFile } from '../unreadable-file.js';
import type { Workspace } from './workspace.js';

/** A value as JSON has it: dates, and integers that a number cannot hold, are texts. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** Milliseconds between two checks whether the time of a request is over. */
const TIME_CHECK_MS = 50;

/** Digits of which a double always keeps each. */
const EXACT_DIGITS = 15;

/** The part that the engine has of the memory of a process: the library itself takes about a third. */
const OF_PROCESS = 0.4;
const FOR_READING = 0.8;

/** How many seconds a request may take, and when it has begun, as `performance.now()` says. */
export interface TimeLimit {
  begun: number;
  seconds: number;
}

/** Rows of a result, and whether there are more. */
export interface Result {
  columns: string[];
  rows: JsonValue[][];
  isCut: boolean;
}

/**
 * The engine for tables: DuckDB on a database of its own in the workspace. It reads the given files and no others, and has
 * neither network nor extensions that are not built in. `lock` makes sure that a statement cannot change this. This is the
 * protection of the machine: whatever a statement of a caller calls, and however it spells it, the engine does not do it.
 */
export class TableEngine {
  private constructor(
    private readonly instance: DuckDBInstance,
    readonly connection: DuckDBConnection,
    private readonly memoryMiB: number,
  ) {}

  /** @param paths the files that may be read */
  static async open(workspace: Workspace, paths: string[], limits: FilesLimits): Promise<TableEngine> {
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const path = await workspace.newPath();
    const instance = await DuckDBInstance.create(path, {
      // The process has one file at a time, and other processes have others.
      threads: '1',
      memory_limit: limitOf(limits.memoryMiB, OF_PROCESS),
      max_temp_directory_size: `${Math.ceil(limits.expandedMiB)}MiB`,
      temp_directory: `${path}.spill`,
      // The settings would have the home directory of the user.
      home_directory: path,
      secret_directory: path,
      extension_directory: path,
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    });
    const engine = new TableEngine(instance, await instance.connect(), limits.memoryMiB);
    await engine.run(`set TimeZone = 'UTC'`);
    await engine.run(`set allowed_paths = [${paths.map(literal).join(', ')}]`);
    await engine.run('set enable_external_access = false');
    await engine.run('create schema source');
    return engine;
  }

  /** After this, no statement changes a setting. */
  async lock(): Promise<void> {
    await this.run('set lock_configuration = true');
  }

  async run(sql: string): Promise<void> {
    await this.connection.run(sql);
  }

  /** Executes a statement that reads a file. The engine counts memory, such as that for each column, which it does not use. */
  async runWithMoreMemory(sql: string): Promise<void> {
    await this.run(`set memory_limit = '${limitOf(this.memoryMiB, FOR_READING)}'`);
    try {
      await this.run(sql);
    } finally {
      await this.run(`set memory_limit = '${limitOf(this.memoryMiB, OF_PROCESS)}'`);
    }
  }

  /**
   * Does something with the engine, which stops when the time is over. Its process is not ended then: the next one would load the
   * engine again.
   *
   * @throws {UnreadableFile} if it takes longer
   */
  async within<T>({ begun, seconds }: TimeLimit, work: () => Promise<T>): Promise<T> {
    let isOver = false;
    // Again and again: between two statements there is nothing to interrupt.
    const timer = setInterval(() => {
      isOver = performance.now() > begun + seconds * 1000;
      if (isOver) this.connection.interrupt();
    }, TIME_CHECK_MS);
    try {
      return await work();
    } catch (error) {
      if (!isOver) throw error;
      throw new UnreadableFile(
        `This request takes more than ${secondsOf(seconds)}, which is more than is spent on it.`,
      );
    } finally {
      clearInterval(timer);
    }
  }

  /** The first rows of a result; the others are not computed if that can be avoided. */
  async select(sql: string, limit: number): Promise<Result> {
    const { JsonDuckDBValueConverter } = await import('@duckdb/node-api');
    const convert: DuckDBValueConverter<JsonValue> = (value, type, inner) =>
      numberOf(JsonDuckDBValueConverter(value, type, inner), type);
    const result = await this.connection.stream(sql);
    const columns = result.deduplicatedColumnNames();
    const rows: JsonValue[][] = [];
    while (rows.length <= limit) {
      const chunk = await result.fetchChunk();
      if (!chunk || chunk.rowCount === 0) break;
      rows.push(...chunk.convertRows(convert).slice(0, limit + 1 - rows.length));
    }
    return { columns, rows: rows.slice(0, limit), isCut: rows.length > limit };
  }

  /** The only row of a result. */
  async row(sql: string): Promise<JsonValue[]> {
    return (await this.select(sql, 1)).rows[0] ?? [];
  }

  close(): void {
    this.connection.closeSync();
    this.instance.closeSync();
  }
}

function limitOf(memoryMiB: number, part: number): string {
  return `${Math.ceil(memoryMiB * part)}MiB`;
}

/** The library gives large integers and decimals as texts. They stay texts if a number would lose digits. */
function numberOf(value: JsonValue, type: DuckDBType): JsonValue {
  if (typeof value !== 'string' || !/^(U?BIGINT$|U?HUGEINT$|DECIMAL)/.test(String(type))) return value;
  const text = value.includes('.') ? value.replace(/\.?0+$/, '') : value;
  return text.replace(/\D/g, '').length <= EXACT_DIGITS || String(Number(text)) === text
    ? Number(text)
    : text;
}

/** A text in SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name in SQL. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
