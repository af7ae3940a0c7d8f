/**
 * What all stores do in the same way, for authors of other stores: `nest-agent-query/store-rules`. Our own stores call these
 * functions too. `docs/stores.md` says when.
 *
 * WARNING: other stores depend on every name below, as on those of the package root.
 */
export {
  cursorExpired,
  doneText,
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
  refuseToWait,
  restartedText,
  runNotFound,
  sessionBusy,
  shownTurn,
  titleOf,
  turnOfRun,
} from '../query/index.js';
