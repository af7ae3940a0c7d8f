import { Injectable, type PipeTransform } from '@nestjs/common';
import { type ReadFile, readFile, refuseFileByLength } from '../body/read-file.js';
import { unusedFilesExceeded } from '../contract/refusals.js';
import { Spool } from '../files/spool.js';
import { type Transfer, Transfers } from '../files/transfers.js';
import { Settings } from '../options/settings.js';
import { rawRequest } from '../platform/host.js';
import { sendContinue } from '../platform/host-parsers.js';
import { AgentService } from '../runs/agent.service.js';
import { storedOwner } from '../sharing/owners.js';
import { Callers, OfRequest, type PendingRequest, type Received } from './caller.js';

/** Reads the file of a request as it arrives. The body of a caller without access is not read. */
@Injectable()
export class FilePipe implements PipeTransform<PendingRequest, Promise<Received<ReadFile>>> {
  constructor(
    private readonly callers: Callers,
    private readonly agent: AgentService,
    private readonly settings: Settings,
    private readonly spool: Spool,
    private readonly transfers: Transfers,
  ) {}

  /** @throws the errors of `Callers.of`, `SentFiles.room`, `refuseFileByLength` and `readFile` */
  async transform(pending: PendingRequest): Promise<Received<ReadFile>> {
    const caller = await this.callers.of(pending);
    const { owner } = caller;
    const room = await this.agent.sentFiles.room(owner);
    const raw = rawRequest(pending());
    const { limits, name } = this.settings;
    refuseFileByLength(raw.headers, limits);
    const transfer = this.transfers.begin(storedOwner(name, owner));
    try {
      sendContinue(raw);
      const file = await readFile(
        raw,
        limits,
        this.spool,
        within(room, transfer, limits.unusedBytesPerOwner),
      );
      const discard = async () => {
        transfer.end();
        await file.discard();
      };
      return { caller, body: { ...file, discard } };
    } catch (error) {
      transfer.end();
      throw error;
    }
  }
}

/** Counts bytes also against the room that an owner has left. */
function within(room: number, transfer: Transfer, maxBytes: number): Transfer {
  let left = room;
  const count = (bytes: number) => {
    left -= bytes;
    if (left < 0) throw unusedFilesExceeded(maxBytes);
    return transfer.count(bytes);
  };
  return { ...transfer, count };
}

/** A parameter of a route: the file in the body, to be discarded by the route, and who sends it. */
export const FileBody = () => OfRequest(FilePipe);
