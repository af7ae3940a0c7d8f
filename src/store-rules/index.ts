/**
 * What all stores do in the same way, for authors of other stores: `nest-agent-query/store-rules`. Our own stores call these
 * functions too. `docs/stores.md` says when.
 *
 * WARNING: other stores depend on every name below, as on those of the package root.
 */
export {
  answersTo,
  askedAt,
  closedBy,
  cursorExpired,
  doneText,
  EXPIRED,
  expiredOf,
  expiresAt,
  hasMetadata,
  INTERRUPTED,
  interrupted,
  isRepeated,
  KEPT_LENGTH,
  KeptAnswer,
  pageFrom,
  pageOf,
  pageOfTurns,
  type Place,
  placeOf,
  recordOfAdmission,
  refuseBehind,
  refuseToAsk,
  refuseToFork,
  refuseToReplace,
  refuseToWait,
  resolvedText,
  restartedText,
  runNotFound,
  sessionBusy,
  shownTurn,
  supersedes,
  titleOf,
  turnOfRun,
  unusedFilesExceeded,
  UPLOAD_MS,
} from '../query/index.js';
