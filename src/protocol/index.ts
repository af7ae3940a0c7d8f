/**
 * `nest-agent-query/protocol`: what a view of another protocol needs besides the package root. It submits queries and follows runs
 * through the endpoint of a module, and writes their logs in its own form. The document of the endpoint is made with it too.
 *
 * WARNING: every name here is public. `test/public-surface.spec.ts` lists them.
 */
export { AskedRequests, type ResolvedRequest, usageSum } from 'nest-agent-query-client/streams';
export {
  type Cursor,
  cursorOf,
  DataUrl,
  Endpoint,
  Endpoints,
  EventStream,
  type Frames,
  framesOfText,
  hasLeft,
  header,
  heldLength,
  holdAnswer,
  type HostRequest,
  type HostResponse,
  idempotencyKeyOf,
  type Interruption,
  invalidQuery,
  joinedPieces,
  JsonPieces,
  type LogSlice,
  type LogText,
  LogTexts,
  type MadeQuery,
  type BodyPlace,
  pathAsSent,
  type Piece,
  piecesOf,
  placesOf,
  type ProblemForm,
  type ReadLog,
  type ReceivedBody,
  rawRequest,
  rawResponse,
  SHAPES,
  STATUS_OF_CODE,
  StreamForm,
  StreamsEnvelopes,
  SubmitsQueries,
  type StringKind,
  takeResponse,
} from '../query/index.js';
