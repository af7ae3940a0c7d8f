/** Where a promise is made: a section of the interface, the module for hosts, the standalone service, or the typed client. */
export type Section =
  | '1'
  | '2.1'
  | '2.2'
  | '2.3'
  | '2.4'
  | '2.5'
  | '2.6'
  | '2.7'
  | '2.8'
  | '2.9'
  | '2.10'
  | '2.11'
  | '2.12'
  | '2.13'
  | '2.15'
  | '2.16'
  | '2.17'
  | '2.18'
  | 'module'
  | 'service'
  | 'client';

interface PromiseOfInterface {
  section: Section;
  sentence: string;
}

/**
 * Every promise of the interface, by its id. `promises.spec.ts` checks that each has a test in `test/e2e`, and that each
 * test there cites one.
 */
export const PROMISES = {
  'request.parts': {
    section: '1',
    sentence:
      'The parts of a query, texts and files in any order, reach the handler as they were sent and in that order.',
  },
  'request.kwargs': {
    section: '1',
    sentence: 'Every key of kwargs reaches the handler unchanged, with any JSON value.',
  },
  'request.no-kwargs': { section: '2.3', sentence: 'kwargs that are absent or null are an empty object.' },
  'request.session-id': { section: '1', sentence: 'kwargs.session_id is a string, null or absent.' },
  'stream.event': {
    section: '1',
    sentence: 'Each event is one line of JSON, {type, data}, and a blank line separates events.',
  },
  'stream.one-by-one': {
    section: '1',
    sentence: 'Events arrive one by one, each before the agent produces the next.',
  },
  'stream.order': { section: '1', sentence: 'Events arrive in the order in which the agent produces them.' },
  'stream.separate': { section: '1', sentence: 'A stream contains only the events of its own query.' },
  'stream.other-types': {
    section: '1',
    sentence: 'A handler may emit an envelope of any other type, with any data that JSON can hold.',
  },

  'profile.plain': {
    section: '2.1',
    sentence: 'The plain profile contains only lines `data:` and blank lines, in UTF-8.',
  },
  'profile.full': {
    section: '2.1',
    sentence: 'The full profile begins with a retry field, and each of its events has the id {runId}.{seq}.',
  },
  'profile.selection': {
    section: '2.1',
    sentence:
      'A POST gets the full profile where its Accept header names text/event-stream, else the plain one.',
  },
  'profile.q-values': {
    section: '2.1',
    sentence: 'GET takes the q-values of the Accept header into account.',
  },
  'profile.keep-alive': {
    section: '2.1',
    sentence: 'A silent stream sends keep-alives, from the start of the response on.',
  },
  'profile.plain-clients': {
    section: '2.1',
    sentence: 'Existing clients that parse the stream by lines or by blank lines read the plain profile.',
  },
  'profile.full-clients': {
    section: '2.1',
    sentence: 'Widely used parsers read the full profile, with the ids of its events.',
  },
  'headers.stream': {
    section: '2.1',
    sentence:
      'The headers of a stream name the run, and keep caches and proxies from holding the stream back.',
  },
  'headers.immediate': {
    section: '2.1',
    sentence: 'The response headers are sent as soon as the run is admitted.',
  },

  'stream.standard-types': {
    section: '2.8',
    sentence:
      'The standard types of envelopes have a defined shape: what their constructors make is streamed unchanged, with any further members.',
  },
  'stream.suggestions': {
    section: '2.8',
    sentence:
      'Suggestions are 1 to 8 requests that can be sent next, each with its text and optionally a label and files; they are kept with the turn.',
  },
  'end.one-done': { section: '2.2', sentence: 'Every stream ends with exactly one envelope of type done.' },
  'end.completed': { section: '2.2', sentence: 'The run of a handler that finishes is completed.' },
  'end.failed': {
    section: '2.2',
    sentence: 'The run of a handler that throws is failed, and the log of the service has the cause.',
  },
  'end.no-internals': {
    section: '2.2',
    sentence: 'The error of a failed run never contains what the handler threw.',
  },
  'end.handler-error': {
    section: '2.2',
    sentence: 'A handler may fail with a code of the closed list and a sentence for the caller.',
  },
  'end.invalid-envelope': {
    section: '2.2',
    sentence: 'A run whose handler emits something that is not an envelope fails and says what was wrong.',
  },
  'end.timeout': { section: '2.2', sentence: 'A run that exceeds its time limit is failed.' },
  'end.cancelled': {
    section: '2.2',
    sentence: 'A run that was cancelled is cancelled, also where its handler throws because of it.',
  },

  'status.problem': {
    section: '2.3',
    sentence: 'The body of every error is a problem document with type, title, status, detail and code.',
  },
  'status.all-faults': {
    section: '2.3',
    sentence: 'A 400 lists all faults of the request at once, each with a JSON Pointer to its field.',
  },
  'status.not-found': { section: '2.3', sentence: 'A run or session that does not exist is 404.' },
  'status.unsupported': {
    section: '2.3',
    sentence: 'Another content type or an unsupported content encoding is 415.',
  },
  'status.guard': {
    section: '2.3',
    sentence: 'A query without a sufficient credential is 401 or 403, before its body is read.',
  },
  'status.late-reader': {
    section: '2.3',
    sentence: 'A client that sends its whole body before it reads can still read why it was refused.',
  },
  'body.json': {
    section: '2.3',
    sentence: 'A body that is not one JSON value is 400 and says where it is not.',
  },
  'body.utf-8': { section: '2.3', sentence: 'A body that is not well-formed UTF-8 is 400.' },
  'body.byte-order-mark': { section: '2.3', sentence: 'A byte order mark before the body is ignored.' },
  'body.as-json-parse': {
    section: '2.3',
    sentence: 'Lone surrogates, escapes and duplicate names are passed on as JSON.parse returns them.',
  },
  'body.unknown-members': {
    section: '2.3',
    sentence: 'Unknown members of the body or of a part are ignored.',
  },
  'body.misplaced': {
    section: '2.3',
    sentence:
      'A member beside parts that other APIs have there, such as session_id, is ignored too, and a log says where it belongs.',
  },
  'body.fields': {
    section: '2.3',
    sentence: 'A field that is missing, of the wrong type or not allowed is 400, and the detail names it.',
  },
  'body.compressed': {
    section: '2.3',
    sentence: 'A body that is compressed with gzip, deflate or br is decompressed.',
  },
  'body.continue': {
    section: '2.3',
    sentence: 'A body that waits for 100 Continue is asked for only where the headers are acceptable.',
  },
  'body.no-leftover': {
    section: '2.3',
    sentence: 'Nothing is kept of a body whose sender leaves before its end.',
  },
  'file.name': {
    section: '2.3',
    sentence: 'A file name is not empty, at most 255 bytes long, and no path; it has no control characters.',
  },
  'file.mime-type': {
    section: '2.3',
    sentence:
      'mimeType has the grammar type/subtype with optional parameters, and only characters that a header can carry.',
  },
  'file.base64': {
    section: '2.3',
    sentence:
      'base64 that does not follow RFC 4648 §4 is 400, and the detail says what is wrong at which offset.',
  },
  'file.mismatch': {
    section: '2.3',
    sentence:
      'Where the bytes of a file are clearly of another type, the handler receives both types and the stream has a log.',
  },
  'file.mismatch-rejected': {
    section: '2.3',
    sentence:
      'A file whose bytes are clearly of another type is rejected where the configuration requires it.',
  },
  'file.content': {
    section: '2.3',
    sentence: 'A handler reads the content of a file whole, in part or as a stream, as often as it wants.',
  },
  'limit.problem': {
    section: '2.3',
    sentence: 'A limit that is exceeded is 413, and the problem names the limit, its value and the part.',
  },
  'refusal.changes-nothing': {
    section: '2.3',
    sentence:
      'A refused request changes nothing, in every view: no run, session, turn, question or file is made, ended or removed.',
  },
  'limit.while-arriving': {
    section: '2.3',
    sentence: 'Limits count decoded bytes and are enforced while the body arrives.',
  },
  'limit.spool': {
    section: '2.3',
    sentence:
      'Files that need more space on disk than all queries may have together are 507, until there is space.',
  },
  'limit.defaults': { section: '2.3', sentence: 'Every limit has the default that the interface states.' },
  'limit.no-progress': { section: '2.3', sentence: 'A body without progress is 408 after its time limit.' },
  'capacity.overdue': {
    section: '2.3',
    sentence: 'A handler that does not stop when asked keeps its slot.',
  },
  'capacity.wait': {
    section: '2.3',
    sentence: 'A query without a free slot waits, its stream says so, and it starts in the order of arrival.',
  },
  'capacity.refuse': {
    section: '2.3',
    sentence: 'A query that exceeds the capacity is 503 with Retry-After.',
  },
  'capacity.existing-runs': {
    section: '2.3',
    sentence: 'At capacity, requests for runs that exist are still answered.',
  },
  'capacity.freed': {
    section: '2.3',
    sentence: 'A waiting query that is cancelled makes space for the next query.',
  },

  'run.outlives-connection': {
    section: '2.4',
    sentence: 'A run executes without a connection, up to its time limit.',
  },
  'run.log-first': {
    section: '2.4',
    sentence: 'An envelope is appended to the event log before any byte of it is sent.',
  },
  'run.numbered': {
    section: '2.4',
    sentence: 'The envelopes of a run are numbered 1, 2, 3, … without gaps, and done is the last.',
  },
  'run.respond-async': {
    section: '2.4',
    sentence: 'Prefer: respond-async is 202: Location and the body name the run, and no stream follows.',
  },
  'run.json': {
    section: '2.4',
    sentence: 'GET shows the run as JSON: id, status, session, times and number of events.',
  },
  'run.not-held-up': { section: '2.4', sentence: 'A handler that never waits does not hold up other runs.' },
  'follow.any-number': {
    section: '2.4',
    sentence: 'Any number of followers read a run, each without a gap or a repeat.',
  },
  'follow.full-profile': { section: '2.4', sentence: 'GET follows a run in the full profile.' },
  'follow.at-end': {
    section: '2.4',
    sentence:
      'A follower at the end of a run that has ended gets 204; before, it gets the events that follow.',
  },
  'follow.event-source': {
    section: '2.4',
    sentence: 'An unmodified EventSource follows a run across cuts, and stops at its end.',
  },
  'cursor.expired': {
    section: '2.4',
    sentence: 'A cursor that is older than the events still kept is 410 with the range that is kept.',
  },
  'cursor.parameter': {
    section: '2.4',
    sentence:
      'A GET takes the parameter lastEventId as the header Last-Event-ID, which wins over it; it wins over after.',
  },
  'resume.end': {
    section: '2.4',
    sentence:
      'A POST whose cursor is the end of its run gets an empty stream, in the full profile with a retry of a day.',
  },
  'cursor.invalid': {
    section: '2.4',
    sentence: 'A cursor that is not one of the run is refused with the reason.',
  },
  'resume.any-cut': {
    section: '2.4',
    sentence: 'A stream that was cut anywhere is resumed without a gap or a repeat, by GET and by POST.',
  },
  'resume.post': {
    section: '2.4',
    sentence: 'A POST with Last-Event-ID returns the missing suffix and starts no new run.',
  },
  'idempotency.same-key': {
    section: '2.4',
    sentence:
      'A POST with an Idempotency-Key that was used attaches to its run; the handler is not run again.',
  },
  'idempotency.from-cursor': {
    section: '2.4',
    sentence: 'A POST with a used Idempotency-Key and Last-Event-ID follows from that cursor.',
  },
  'idempotency.same-query': {
    section: '2.4',
    sentence:
      'White space, order of members, escapes and unknown members do not make another query of a repeated one.',
  },
  'idempotency.other-query': {
    section: '2.3',
    sentence: 'A used Idempotency-Key with another query, or with other metadata, is 422.',
  },
  'idempotency.invalid-key': {
    section: '2.4',
    sentence: 'An Idempotency-Key that is empty or longer than 255 characters is 400.',
  },
  'idempotency.repeated-header': {
    section: '2.4',
    sentence: 'A request with two headers Idempotency-Key or Last-Event-ID is 400.',
  },
  'idempotency.owner': { section: '2.6', sentence: 'The Idempotency-Keys of two owners do not collide.' },
  'cancel.stopped': {
    section: '2.4',
    sentence: 'DELETE is 200 with the JSON of the run when its handler has really stopped.',
  },
  'cancel.body': {
    section: '2.4',
    sentence: 'Bodies of DELETE and GET requests are ignored, whatever their headers say.',
  },
  'cancel.deadline': {
    section: '2.4',
    sentence: 'DELETE is 202 where the handler has not stopped within the deadline.',
  },
  'cancel.ended': {
    section: '2.4',
    sentence: 'DELETE of a run that has ended is 200 and leaves it as it is.',
  },
  'cancel.waiting': {
    section: '2.4',
    sentence: 'DELETE of a run that waits ends it without calling its handler.',
  },
  'run.erase': {
    section: '2.4',
    sentence:
      'DELETE with ?erase removes a run that has no session, with its log and its files; it is cancelled before.',
  },
  'disconnect.continue': {
    section: '2.4',
    sentence: 'With the policy continue, a run continues when its last follower leaves.',
  },
  'disconnect.cancel': {
    section: '2.4',
    sentence: 'With the policy cancel, a run is cancelled when its last follower leaves.',
  },
  'disconnect.grace': {
    section: '2.4',
    sentence: 'With the policy grace, a run is cancelled unless a follower returns in time.',
  },
  'disconnect.default': { section: '2.4', sentence: 'The default disconnect policy is a grace of 30 s.' },
  'disconnect.other-followers': {
    section: '2.4',
    sentence: 'A run continues while another follower stays, whatever the disconnect policy.',
  },
  'disconnect.respond-async': {
    section: '2.4',
    sentence: 'Prefer: respond-async means continue, whatever the disconnect policy.',
  },
  'disconnect.no-leak': {
    section: '2.4',
    sentence: 'Clients that leave at any moment leave no run, handler, timer, socket or listener behind.',
  },
  'backpressure.time-limit': {
    section: '2.4',
    sentence:
      'The time in which followers hold a handler back does not count for its time limit; it has a limit of its own.',
  },
  'backpressure.observable': {
    section: '2.4',
    sentence:
      'An Observable may emit 32 Mi characters at once on every store; with more the run fails and says so.',
  },
  'backpressure.bounded-memory': {
    section: '2.4',
    sentence: 'A stream of any length uses bounded memory.',
  },
  'backpressure.not-disconnected': {
    section: '2.4',
    sentence: 'A client that stops reading is not disconnected for it.',
  },
  'backpressure.continues': {
    section: '2.4',
    sentence: 'A client that reads again continues from the point where it stopped.',
  },
  'backpressure.whole-answers': {
    section: '2.18',
    sentence:
      'A long answer that a caller asks for and does not read uses little memory, in every view, as JSON and as a stream.',
  },
  'capacity.answers': {
    section: '2.18',
    sentence:
      'Above a bound for what the answers of all callers hold, a long answer is 503 at_capacity, until others are read.',
  },

  'session.enqueue': {
    section: '2.5',
    sentence: 'With the policy enqueue, the queries of a session execute one at a time, in order.',
  },
  'session.reject': {
    section: '2.5',
    sentence: 'With the policy reject, a query of a session that is busy is 409.',
  },
  'session.interrupt': {
    section: '2.5',
    sentence: 'With the policy interrupt, a newer query cancels the older runs of its session.',
  },
  'session.full': {
    section: '2.5',
    sentence: 'A query that exceeds the limit of waiting queries of its session is 429 with Retry-After.',
  },
  'session.leaves-queue': { section: '2.5', sentence: 'A waiting query that is cancelled leaves its queue.' },
  'session.none': { section: '2.5', sentence: 'Queries without a session do not wait for one another.' },
  'session.any-id': { section: '2.5', sentence: 'A session_id may be any string.' },
  'session.every-route': {
    section: '2.5',
    sentence:
      'Every route of a session, in every view, finds it by its id, also if that is a name of our own paths.',
  },
  'session.turns': {
    section: '2.5',
    sentence:
      'The turns of a session are passed to the handler and shown: parts, the text of the answer, the end.',
  },
  'session.envelopes': {
    section: '2.5',
    sentence:
      'A turn keeps the envelopes of the answer of the standard types except log and progress, with neighbouring chunks of one message joined.',
  },
  'session.envelopes-limit': {
    section: '2.5',
    sentence:
      'The envelopes of a turn have at most 1 MiB together, and the turn says so where there were more.',
  },
  'session.newest-turns': {
    section: '2.5',
    sentence: 'The handler receives the newest turns, up to the number that the options set.',
  },
  'session.pages': { section: '2.5', sentence: 'GET lists the turns of a session in pages, oldest first.' },
  'session.cut-texts': {
    section: '2.10',
    sentence: 'Pages cut texts over 64 KiB, and state the size and the digest of the whole.',
  },
  'session.active': {
    section: '2.5',
    sentence: 'GET of a session names the run that executes, and says how many runs wait.',
  },
  'session.files': {
    section: '2.5',
    sentence: 'A handler reads the files of the earlier turns of its session.',
  },
  'session.durable': {
    section: '2.5',
    sentence: 'With a durable store, a session and its files survive a restart.',
  },
  'session.erased-from-disk': {
    section: '2.5',
    sentence:
      'What is erased is no longer in the file of the database nor beside it, and only the user of the service can read them.',
  },
  'session.erase': {
    section: '2.5',
    sentence: 'DELETE erases a session with its turns, runs, logs and files, and cancels what executes.',
  },

  'session.replace': {
    section: '2.16',
    sentence:
      'A query with Session-After: n replaces the turns after n, and its handler gets the turns before.',
  },
  'session.replace-once': {
    section: '2.16',
    sentence: 'A repeated query with Session-After finds its run, and replaces nothing again.',
  },
  'session.replace-refused': {
    section: '2.16',
    sentence:
      'Session-After is refused without a session, with what is no number of a turn, and while a run of the session has not ended; the turns stay.',
  },
  'session.replace-hook': {
    section: '2.16',
    sentence: 'The handler is told of turns that are replaced, before the run that replaces them begins.',
  },
  'session.fork': {
    section: '2.16',
    sentence: 'A fork begins with the first turns of a session, and both go their own way from there.',
  },
  'session.fork-shares': {
    section: '2.16',
    sentence:
      'The files and long texts of a fork stay when the session that it comes from is erased, and nothing of them stays when the last session is.',
  },
  'session.fork-active': {
    section: '2.16',
    sentence: 'A fork of a session whose run has not ended has the turns that have ended.',
  },
  'session.fork-refused': {
    section: '2.16',
    sentence:
      'A fork is 404 without the session, 409 where its id is taken, and 400 with the faults of its body and their pointers.',
  },
  'session.erased-hook': {
    section: '2.5',
    sentence:
      'The handler is told of a session that was erased. If it fails to erase its own memory, the session is erased all the same.',
  },

  'files.answer': {
    section: '2.9',
    sentence:
      'A file that the handler emits is stored, and callers get its name, type, size, digest and path in its place.',
  },
  'files.download': {
    section: '2.9',
    sentence:
      'GET returns a file of an answer or of a query to the owner of the run, as a download that no browser shows as a page.',
  },
  'files.expired': {
    section: '2.9',
    sentence: 'A file whose content is no longer kept is 410.',
  },
  'files.limits': {
    section: '2.9',
    sentence: 'The files of an answer have the limits of those of a query.',
  },
  'files.text': {
    section: '2.9',
    sentence:
      'GET returns a long text of a turn by its digest, as a download that no browser shows as a page.',
  },
  'files.range': {
    section: '2.9',
    sentence: 'GET returns the range of a file that the header Range asks for.',
  },

  'uploads.keep': {
    section: '2.17',
    sentence:
      'POST keeps a file for its owner, sent as it is or in a form, and returns its digest, size, name, type and expiry.',
  },
  'uploads.query': {
    section: '2.17',
    sentence:
      'A file part with the digest of a file that was sent before reaches the handler like one with its content.',
  },
  'uploads.missing': {
    section: '2.17',
    sentence:
      'A query that names a file which its owner has not sent is 400, with a pointer for each such part.',
  },
  'uploads.known': {
    section: '2.17',
    sentence: 'HEAD says whether the owner has sent a file, before a query or with one.',
  },
  'uploads.owners': {
    section: '2.17',
    sentence: 'Nobody can query a file that only another owner has sent, or learn that somebody has sent it.',
  },
  'uploads.limits': {
    section: '2.17',
    sentence: 'The limits of a query hold for a file while it arrives, and for the files that a query names.',
  },
  'uploads.refused': {
    section: '2.17',
    sentence: 'A file with labels, a form or an encoding that is not valid is refused, and says why.',
  },
  'uploads.no-leftover': {
    section: '2.17',
    sentence: 'A file that is refused, or whose sender leaves, leaves nothing on disk.',
  },
  'uploads.drain': {
    section: '2.17',
    sentence:
      'A file that arrives while its process is stopped is refused as draining, or cut with it, and leaves nothing on disk.',
  },
  'uploads.expire': {
    section: '2.17',
    sentence: 'A file that no query uses expires after an hour.',
  },
  'uploads.unused': {
    section: '2.17',
    sentence: 'The files of an owner that no query uses have a limit together.',
  },

  'list.runs': { section: '2.10', sentence: 'GET lists the runs of the caller, newest first.' },
  'list.sessions': {
    section: '2.10',
    sentence:
      'GET lists the sessions of the caller, last used first, each with its title, turns, time and active run.',
  },
  'list.pages': {
    section: '2.10',
    sentence:
      'A list has pages, whose cursor is stable while runs are added and removed; a page has a limit of entries and of length.',
  },
  'metadata.run': {
    section: '2.16',
    sentence:
      'A query may have metadata, which its run and the lists return; the handler gets it, and no model.',
  },
  'metadata.limits': {
    section: '2.16',
    sentence:
      'Metadata that is no object of at most 16 strings of 512 characters, with keys of 64, is 400 with a pointer to each fault.',
  },
  'metadata.list': {
    section: '2.16',
    sentence: 'A list has the runs with all entries of metadata that its parameters name, in stable pages.',
  },
  'result.once': {
    section: '2.16',
    sentence: 'A run has one result at most: a second fails it, unless the first is void.',
  },
  'list.owners': { section: '2.6', sentence: 'A list has nothing of another owner.' },
  'list.parameters': {
    section: '2.10',
    sentence: 'Parameters of a list that are not valid are 400, with all faults.',
  },
  'list.head': { section: '2.10', sentence: 'HEAD answers as GET does, without the list.' },
  'list.host': { section: 'module', sentence: 'A host lists the runs and sessions of an owner.' },

  'usage.sums': {
    section: '2.16',
    sentence:
      'GET adds up the usage envelopes of the caller by day, model or session, as soon as they are in the log, in pages.',
  },
  'usage.parameters': {
    section: '2.16',
    sentence: 'Parameters of the sums that are not valid are 400, with all faults.',
  },
  'usage.owners': { section: '2.16', sentence: 'Neither sums nor budgets count what another owner uses.' },
  'usage.kept': {
    section: '2.16',
    sentence: 'What was used stays when its session is erased, and belongs to no session then.',
  },
  'usage.price': {
    section: '2.16',
    sentence: 'A host gives usage a price, which is added up too, exactly.',
  },
  'usage.told': {
    section: 'module',
    sentence: 'A host is told each usage with its price, and metrics count its tokens by model and kind.',
  },
  'budget.reached': {
    section: '2.16',
    sentence:
      'A query of an owner who has reached a budget is refused until the next day or month, but finds the run that it repeats.',
  },
  'budget.hard': {
    section: '2.16',
    sentence: 'A run that exceeds a hard budget fails, and its handler is stopped.',
  },
  'budget.processes': {
    section: '2.16',
    sentence: 'What an owner uses counts against a budget in all processes that share a database.',
  },
  'budget.variables': {
    section: 'service',
    sentence: 'Variables give every owner a budget of tokens for the day or the month, which may be hard.',
  },
  'budget.options': { section: 'module', sentence: 'Budgets that are not valid end the start.' },

  'owner.isolation': {
    section: '2.6',
    sentence:
      'No other owner can follow, cancel, list or erase what belongs to one: it does not exist for them.',
  },
  'owner.erase': {
    section: '2.6',
    sentence:
      'A host erases all that there is of an owner, also what executes, waits and asks; other owners keep what they have.',
  },
  'owner.sessions': {
    section: '2.6',
    sentence: 'The sessions of two owners with one session_id do not collide.',
  },
  'owner.anonymous': { section: '2.6', sentence: 'Without authentication everything belongs to anonymous.' },

  'version.path': {
    section: '2.7',
    sentence: 'The path of a run includes the global prefix and the version of the host.',
  },
  'version.header': {
    section: '2.7',
    sentence: 'A host may read the version from a header; the path of a run has none then.',
  },

  'module.handlers': {
    section: 'module',
    sentence:
      'A host imports QueryModule.forRoot with a class, an instance, an object or a function as its handler.',
  },
  'module.async-options': {
    section: 'module',
    sentence: 'A host imports QueryModule.forRootAsync with options that its providers make.',
  },
  'module.injected': {
    section: 'module',
    sentence:
      'A factory gets what the host provides under a class of the package; what waits for itself is an error at the start.',
  },
  'module.opened': {
    section: 'module',
    sentence:
      'A store, a dispatcher and a tracer may be promises; the start waits for them, and fails with their reason.',
  },
  'module.answers': {
    section: 'module',
    sentence: 'A handler answers with an Observable, an async iterable, or a promise of one.',
  },
  'module.lifecycle': {
    section: 'module',
    sentence: 'Each lifecycle hook of a handler is called once.',
  },
  'module.invalid-handler': {
    section: 'module',
    sentence:
      'A host does not start with something that is not a handler, and the error says what it may be.',
  },
  'module.options': {
    section: 'module',
    sentence:
      'A host does not start with an option that is unknown or out of its range; undefined is the default.',
  },
  'module.connections': {
    section: 'module',
    sentence: 'A host closes while clients hold connections without a request.',
  },
  'module.connected-before': {
    section: 'module',
    sentence:
      'A caller who has connected before a stop gets the whole answer, even if the process has not accepted the connection yet.',
  },
  'module.global': {
    section: 'module',
    sentence:
      'AgentService is available to all modules with isGlobal, else to modules that import QueryModule.',
  },
  'module.two-paths': {
    section: 'module',
    sentence: 'One host may serve several agents at several paths, each with its own options.',
  },
  'module.earlier': {
    section: 'module',
    sentence:
      'A host may send an earlier conversation with a query: the history of its run, and of later runs of its session, has it before the query.',
  },
  'module.async-context': {
    section: 'module',
    sentence: 'A handler is executed in the async context of the request that submitted its query.',
  },
  'module.request-scope': {
    section: 'module',
    sentence: 'A handler that depends on something request-scoped is made once for each run.',
  },
  'module.abandoned': {
    section: 'module',
    sentence: 'A host that closes stops a run at once if no caller follows it and none can follow it later.',
  },
  'module.admit': {
    section: 'module',
    sentence:
      'The option admit refuses a query with a code and a status of the host, before anything is kept; what it returns is waited for.',
  },
  'module.admit-fails': {
    section: 'module',
    sentence: 'A caller does not see the text of an unexpected exception of the option admit.',
  },
  'module.listeners': {
    section: 'module',
    sentence:
      'Listeners and channels are told what happens to runs, and a listener that throws has no other effect.',
  },
  'module.refusals': {
    section: 'module',
    sentence:
      'Listeners are told of every refusal with its code and status, once, whether a guard, the body, the admission or the host has refused.',
  },
  'module.repeated': {
    section: 'module',
    sentence: 'Listeners are told when a query has found the run of an earlier query by its idempotency key.',
  },
  'module.totals': {
    section: 'module',
    sentence:
      'AgentService counts what handlers have emitted and callers have sent, also while runs execute, and knows what is kept.',
  },
  'module.metrics': {
    section: 'module',
    sentence:
      'The metrics of a query module have the numbers of its runs, refusals, followers, envelopes, files, logs, store, and of what runs ask.',
  },
  'module.metrics-names': {
    section: 'module',
    sentence:
      'The metrics of modules with names have these names as a label, and no label that callers choose.',
  },
  'module.metrics-guard': {
    section: 'module',
    sentence: 'The metrics have the path, the guards and the prefix that the host gives them.',
  },
  'module.metrics-port': {
    section: 'module',
    sentence:
      'The metrics may have a port of their own, which answers nothing else, until the host has stopped.',
  },
  'module.query-log': {
    section: 'module',
    sentence:
      'The log has one line per query when its admission is answered and one when its run ends, one when a run asks and one per answer; what callers choose cannot begin another line.',
  },
  'module.error-log': {
    section: 'module',
    sentence:
      'What a caller has sent can neither begin an entry of the log nor steer a terminal where an error has it.',
  },
  'module.health-indicator': {
    section: 'module',
    sentence: 'The health checks of a host tell whether a query module takes queries, and why it does not.',
  },
  'module.version': {
    section: 'module',
    sentence: 'GET /version says the name and the version of the package.',
  },
  'traces.run': {
    section: 'module',
    sentence:
      'A run has one span, invoke_agent, which is a child of the span of its caller; its admission and its execution are below it, and what the handler does is below the execution.',
  },
  'traces.end': {
    section: 'module',
    sentence:
      'The span of a run says how the run has ended, with the tokens that were used, and has no contents and no owner.',
  },
  'traces.asking': {
    section: 'module',
    sentence:
      'A run that asks has a span await_input until the last answer or the end of the run, without anything of questions and answers.',
  },
  'traces.waiting': {
    section: 'module',
    sentence: 'The span of a run that waits begins with its admission, and its handler is in its own trace.',
  },
  'traces.refused': {
    section: 'module',
    sentence:
      'The span of a query that is refused has the error code, and that of a repeated query has a link to the span of its run.',
  },
  'traces.resume': {
    section: 'module',
    sentence: 'Each resume has a span in the trace of its caller, with a link to the span of the run.',
  },
  'traces.attempts': {
    section: 'module',
    sentence: 'A later attempt of a run continues its trace, also after a restart of the service.',
  },
  'traces.id': {
    section: 'module',
    sentence:
      'Listeners are told the id of the trace of a run, also without an SDK if the caller has sent a valid traceparent; a malformed one is ignored.',
  },
  'traces.tracer-fails': { section: 'module', sentence: 'What a tracer throws has no effect on runs.' },
  'module.interceptors': {
    section: 'module',
    sentence: 'An interceptor of the host finishes when the stream opens, with undefined.',
  },
  'module.names': {
    section: 'module',
    sentence: 'A host may have several modules with names, and injects the AgentService of each by its name.',
  },
  'module.shared-store': {
    section: 'module',
    sentence: 'Modules may share a store, and never see or execute the runs of each other.',
  },
  'module.lazy': {
    section: 'module',
    sentence:
      'A handler may load modules lazily; loading QueryModule itself lazily is an error that says why.',
  },
  'module.decorators': {
    section: 'module',
    sentence:
      'The option decorators decorates the endpoint alone: guards, rate limits, interceptors, metadata.',
  },
  'module.versions': {
    section: 'module',
    sentence:
      'The option version gives the endpoint a version; other versions of its path stay with the host.',
  },
  'module.paths': {
    section: 'module',
    sentence:
      'The page, metrics, health and version have the prefix of the host and no version, and the page finds its endpoints.',
  },
  'module.public': {
    section: 'module',
    sentence: 'A decorator of the host lets the page, metrics, health and version pass its guard.',
  },
  'module.hosts': {
    section: 'module',
    sentence: 'With the option host, the endpoint serves only requests for these host names.',
  },
  'module.testing': {
    section: 'module',
    sentence: 'In a testing module the handler or AgentService may be overridden with a stub.',
  },
  'module.testing-bodies': {
    section: 'module',
    sentence:
      'In a testing module bodies are read as they arrive, also those that the parsers of the host refuse.',
  },
  'kwargs.typed': {
    section: 'module',
    sentence:
      'With the option kwargs, a handler receives an instance of that class, with every other key unchanged.',
  },
  'kwargs.faults': {
    section: 'module',
    sentence:
      'With the option kwargs, the faults of kwargs are listed with their pointers among all faults of the query.',
  },
  'kwargs.basic-rule': {
    section: 'module',
    sentence:
      'Of several rules that a value of kwargs breaks, the fault names one about its type, or else the one that is written first.',
  },
  'kwargs.in-process': {
    section: 'module',
    sentence:
      'AgentService.query refuses kwargs that break the rules of the option kwargs, and keeps nothing.',
  },
  'kwargs.recovered': {
    section: 'module',
    sentence: 'A run that is executed after a restart gives its handler kwargs of the same class.',
  },
  'host.pipes': {
    section: 'module',
    sentence: 'Global pipes of the host do not change queries, and stay strict.',
  },
  'host.filters': {
    section: 'module',
    sentence: 'Exception filters of the host receive only its own exceptions.',
  },
  'host.interceptors': {
    section: 'module',
    sentence: 'Global interceptors of the host do not change streams.',
  },
  'host.interceptors-answer': {
    section: 'module',
    sentence:
      'Each request has one answer, also where a global interceptor answers in place of the endpoint, gives up, tries again or changes answers.',
  },
  'host.middleware': {
    section: 'module',
    sentence: 'Middleware of the host receives every byte of a stream.',
  },
  'host.cors': { section: 'module', sentence: 'CORS headers of the host are on streams and on problems.' },
  'host.compression': {
    section: 'module',
    sentence: 'Compression of the host does not compress or hold back streams.',
  },
  'host.parsers': {
    section: 'module',
    sentence: 'A query is answered whichever body parsers the host uses, and its other routes keep them.',
  },
  'host.large-bodies': {
    section: 'module',
    sentence: 'A host with default settings takes large queries, and its other routes keep their limit.',
  },
  'host.routes': { section: 'module', sentence: 'Other paths and methods stay with the host.' },
  'http.1.1': { section: 'module', sentence: 'HTTP/1.1 clients read whole events as chunks.' },
  'http.1.0': { section: 'module', sentence: 'HTTP/1.0 clients read until the connection closes.' },
  'http.2': { section: 'module', sentence: 'HTTP/2 clients read the stream as data.' },
  'http.pipelining': {
    section: 'module',
    sentence: 'Pipelined queries are executed and answered one after another.',
  },
  'http.kept-alive': {
    section: 'module',
    sentence: 'One kept-alive connection serves any number of queries, and gains no listener with each.',
  },
  'http.head': { section: 'module', sentence: 'HEAD of a run returns its headers and no body.' },
  'drain.order': {
    section: 'module',
    sentence: 'A host that closes refuses new queries with 503, and lets its runs end.',
  },
  'drain.port': {
    section: 'module',
    sentence: 'A host that closes stops listening first, so that the next process can take its port.',
  },
  'drain.interrupted': {
    section: 'module',
    sentence: 'A run that has not ended when the time to drain is over is failed as interrupted.',
  },
  'drain.handed-over': {
    section: 'module',
    sentence: 'A durable store keeps waiting runs; their followers are disconnected with a retry field.',
  },
  'drain.stalled-client': {
    section: 'module',
    sentence:
      'A host that closes does not wait for a client that stopped reading, or has sent half a request.',
  },
  'drain.twice': {
    section: 'module',
    sentence: 'A host without runs closes at once, also when it is told twice.',
  },

  'service.curl': { section: 'service', sentence: 'The service prints a curl line that works as printed.' },
  'service.agent-file': {
    section: 'service',
    sentence: 'The service serves the handler of the module that AGENT names.',
  },
  'service.agent-file-failure': {
    section: 'service',
    sentence:
      'A module that cannot be loaded is reported with the file, the place and what to do, without a stack of Node, and ' +
      'with an exit code of its own.',
  },
  'service.agent-typescript': {
    section: 'service',
    sentence:
      'A TypeScript file answers where Node can execute it; elsewhere the error names the file and the command that helps.',
  },
  'service.watch': {
    section: 'service',
    sentence:
      'With --watch, a module is loaded again when its file or a file that it imports has changed: new queries get the new ' +
      'code, and runs that execute go on with theirs.',
  },
  'service.watch-failure': {
    section: 'service',
    sentence:
      'A changed module that cannot be loaded is reported with the place, and the version before it goes on answering.',
  },
  'service.watch-hooks': {
    section: 'service',
    sentence: 'The hooks of a version are called when it is loaded, and when its last run has ended.',
  },
  'service.agents': {
    section: 'service',
    sentence:
      'AGENTS serves several agents from one service, each at /{name}/query with its own runs, sessions, lists and ' +
      'idempotency keys, also after a restart and in several processes.',
  },
  'service.openapi': {
    section: 'service',
    sentence:
      'GET /openapi.json describes the paths of the service and of other protocols as OpenAPI 3.1, without the assets of its page and ' +
      'the tests of doctor, with the credentials that are configured, and needs one itself where there are some.',
  },
  'service.caching': {
    section: 'service',
    sentence: 'Each 200 of a GET says how it may be cached, and only what needs no credential may be shared.',
  },
  'service.agents-variables': {
    section: 'service',
    sentence: 'A variable whose name begins with that of an agent holds for this agent alone.',
  },
  'service.agents-shared': {
    section: 'service',
    sentence: 'The agents of a service share its access and its operation, and each is told apart there.',
  },
  'service.acp': {
    section: 'service',
    sentence: 'With AGENT=acp a coding agent that speaks ACP answers, also as one of several agents.',
  },
  'service.acp-environment': {
    section: 'service',
    sentence:
      'A coding agent gets only the variables of the service that ACP_ENV names, and no secret of the service.',
  },
  'service.acp-start': {
    section: 'service',
    sentence:
      'A service whose ACP_COMMAND cannot be executed, or answers no initialize, does not start. It says what was printed, and leaves no process.',
  },
  'service.command': {
    section: 'service',
    sentence:
      'With AGENT=command a program answers: it reads the query as a line of JSON, and its lines are the answer.',
  },
  'service.command-cancel': {
    section: 'service',
    sentence:
      'A cancel that is acknowledged with 200 has ended the program and its children, also if they ignore SIGTERM.',
  },
  'service.command-failure': {
    section: 'service',
    sentence:
      'An exit code other than 0 is handler_failed; its cause is in the log of the operator, not in the answer.',
  },
  'service.command-back-pressure': {
    section: 'service',
    sentence: 'A program waits while nobody reads its answer.',
  },
  'service.command-shutdown': {
    section: 'service',
    sentence:
      'No program outlives the service that is stopped, also if it ends at once because of a second signal.',
  },
  'asking.command': {
    section: '2.13',
    sentence:
      'A program asks, ends with the exit code 75, and is started again with the answers and its last checkpoint.',
  },
  'asking.command-live': {
    section: '2.13',
    sentence: 'A program whose input is kept open asks, and reads the answer as its next line.',
  },
  'asking.command-slot': {
    section: '2.13',
    sentence: 'A run whose program has ended until the answer comes leaves its place to other programs.',
  },
  'asking.command-cancel': {
    section: '2.13',
    sentence: 'A cancel that is acknowledged with 200 has ended a program that waits for an answer.',
  },
  'asking.command-invalid': {
    section: '2.13',
    sentence: 'A program that asks something that is not valid fails its run, with the reason.',
  },
  'asking.remote': {
    section: '2.13',
    sentence:
      'What the service behind AGENT=remote asks is asked under the same ids, and the answer reaches that service.',
  },
  'asking.remote-elsewhere': {
    section: '2.13',
    sentence:
      'Where somebody has answered in the service behind AGENT=remote, the run goes on with that answer.',
  },
  'asking.remote-cancel': {
    section: '2.13',
    sentence:
      'An acknowledged cancel of a run of AGENT=remote that asks has ended the run of the remote service.',
  },
  'service.command-secrets': {
    section: 'service',
    sentence: 'The environment of a program has no variable of the service.',
  },
  'service.files-agent': {
    section: 'service',
    sentence: 'The built-in agent describes the files of a query in the order of the request.',
  },
  'service.files-agent-requests': {
    section: 'service',
    sentence:
      'The built-in agent answers requests about the files of a query and of earlier turns of its session.',
  },
  'service.files-agent-people': {
    section: 'service',
    sentence:
      'The built-in agent says what it can do, and suggests a sample and requests that fit a question; they work when they are sent.',
  },
  'service.files-agent-exports': {
    section: 'service',
    sentence:
      'The built-in agent gives a table, or the result of a statement, as a file in CSV, JSON or Parquet.',
  },
  'service.files-agent-cancel': {
    section: 'service',
    sentence:
      'A request to the built-in agent that takes long ends within half a second when its run is cancelled.',
  },
  'service.files-agent-hostile': {
    section: 'service',
    sentence: 'A file that harms its parser costs one sentence in one answer, and no other query notices.',
  },
  'service.files-agent-orphans': {
    section: 'service',
    sentence: 'The processes that parse files end with the service, however it ends.',
  },
  'service.crash': {
    section: 'service',
    sentence:
      'A run whose handler ends the process ends as interrupted, and its handler is not called again.',
  },
  'service.unhandled-rejection': {
    section: 'service',
    sentence: "A handler's unhandled rejection must not crash other runs.",
  },
  'service.sigterm': { section: 'service', sentence: 'On SIGTERM the service lets its runs end, and exits.' },
  'service.health': { section: 'service', sentence: 'The service says whether it is live and ready.' },
  'service.not-ready': { section: 'service', sentence: 'The service is not ready while it drains.' },
  'service.shutdown': {
    section: 'service',
    sentence:
      'SIGTERM ends the service in order with exit code 0, also while clients hold connections without a request.',
  },
  'service.second-signal': {
    section: 'service',
    sentence: 'A second signal ends the service at once, and the service says so.',
  },
  'service.problems': {
    section: 'service',
    sentence: 'A path that the service does not have, or that is not a valid URL, is a problem.',
  },
  'service.output-gone': {
    section: 'service',
    sentence: 'The service continues when the reader of its output is gone.',
  },
  'service.log-full': {
    section: 'service',
    sentence:
      'The service continues while its output cannot be written, as on a full disk, and says later how much is lost.',
  },
  'service.environment': {
    section: 'service',
    sentence: 'The service does not start with an invalid environment, and names every variable at fault.',
  },
  'service.port': { section: 'service', sentence: 'The service says which port is in use.' },

  'owners.running': {
    section: '2.12',
    sentence:
      'A query of an owner of whom as many runs execute as may waits, its stream says so, and it starts when one of them ends.',
  },
  'owners.waiting': {
    section: '2.12',
    sentence:
      'A query that would wait while as many queries of its owner wait as may is 429 with Retry-After.',
  },
  'owners.turns': {
    section: '2.12',
    sentence:
      'Slots are given to owners in turn: a single query waits for no more than one query of each other owner.',
  },
  'owners.files': {
    section: '2.12',
    sentence:
      'A query whose files exceed what its owner may have in transit is 429 with Retry-After, until others have ended; with Postgres in all processes together.',
  },
  'owners.processes': {
    section: '2.12',
    sentence: 'The limits of runs of an owner hold for all processes together.',
  },

  'asking.elsewhere': {
    section: '2.13',
    sentence: 'A run can be answered at any process. A handler that still waits goes on in its process.',
  },
  'asking.killed': {
    section: '2.13',
    sentence:
      'A question survives the end of all processes. After the answer the handler is called again, once.',
  },
  'asking.deploys': {
    section: '2.13',
    sentence: 'A run that asks is not touched by processes that stop and start.',
  },
  'asking.one-answer': {
    section: '2.13',
    sentence: 'Of two answers at the same time, one counts. The other gets 409 with what counts.',
  },
  'asking.ended-elsewhere': {
    section: '2.13',
    sentence: 'A run that asks can be cancelled, superseded and expire at any process.',
  },

  'cluster.follow': {
    section: '2.11',
    sentence: 'A follower at any process gets the events of a run while another process executes it.',
  },
  'cluster.resume': {
    section: '2.11',
    sentence: 'A stream can be resumed at any process.',
  },
  'cluster.cancel': {
    section: '2.11',
    sentence:
      'A DELETE at any process answers 200 when the handler has stopped, wherever it executes, and 202 where it does not stop in time.',
  },
  'cluster.erase': {
    section: '2.11',
    sentence: 'Any process erases a session, also while another process executes a run of it.',
  },
  'cluster.retry': {
    section: '2.11',
    sentence: 'Retries of a query at several processes get the same stream of one execution.',
  },
  'cluster.grace': {
    section: '2.11',
    sentence: 'A follower at any process keeps a run from being cancelled when the others have left.',
  },
  'cluster.sessions': {
    section: '2.11',
    sentence:
      'Queries of a session are executed in the order of their arrival, at whichever process they arrive.',
  },
  'cluster.slots': {
    section: '2.11',
    sentence: 'A run that waits for a slot is executed by the first process that has one.',
  },
  'cluster.deploy': {
    section: '2.11',
    sentence: 'A process that starts or stops in order cuts no stream of the other processes.',
  },
  'cluster.backpressure': {
    section: '2.11',
    sentence: 'A slow follower at another process holds an async iterable back.',
  },
  'cluster.roles': {
    section: '2.11',
    sentence:
      'A process with the role api admits and follows, and one with the role worker executes, with the files of the query, and serves its health only.',
  },
  'cluster.traces': {
    section: '2.11',
    sentence:
      'The trace of a run continues in each process: below the span of the process that has admitted it are the executions of others, and a resume at another process has a link to it.',
  },
  'cluster.killed-executing': {
    section: '2.11',
    sentence:
      'When the process that executes a run is killed, the run ends as interrupted for all followers, and its session continues.',
  },
  'cluster.killed-admitting': {
    section: '2.11',
    sentence:
      'A run does not need the process that has admitted it, neither while it waits nor while it executes elsewhere.',
  },
  'cluster.killed-following': {
    section: '2.11',
    sentence: 'A follower whose process is killed resumes at another process without a gap.',
  },
  'cluster.killed-workers': {
    section: '2.11',
    sentence:
      'When all processes that execute are killed, runs that wait are executed by the next one that starts.',
  },
  'cluster.frozen': {
    section: '2.11',
    sentence:
      'The runs of a process that is frozen for longer than its lease end as interrupted; when it wakes, it writes nothing to them, its followers get the end, and it executes runs again.',
  },
  'cluster.frozen-takes': {
    section: '2.11',
    sentence:
      'A run that waits is executed, not interrupted, when a process wakes that was frozen for longer than its lease.',
  },
  'cluster.restart-frozen': {
    section: '2.11',
    sentence:
      'A process that was frozen may execute the next attempt of a run whose earlier attempt it has not stopped yet.',
  },
  'cluster.restart-killed': {
    section: '2.11',
    sentence:
      'A run whose handler may be executed again continues at another process from its last checkpoint; without what is void, its answer is that of an undisturbed run.',
  },
  'cluster.restart-file': {
    section: '2.11',
    sentence: 'With a file, such a run continues when the service is started again.',
  },
  'cluster.restart-limit': {
    section: '2.11',
    sentence:
      'A run that ends its process again and again uses up its attempts, and then ends as interrupted.',
  },
  'cluster.drain': {
    section: '2.11',
    sentence:
      'A process that is stopped is not ready, hands its waiting runs over at once, lets its running ones end, and exits with 0.',
  },
  'cluster.drain-restarts': {
    section: '2.11',
    sentence:
      'A run that may be executed again and does not end within the drain continues at another process; its followers are disconnected with retry, and resume there.',
  },
  'cluster.drain-interrupted': {
    section: '2.11',
    sentence:
      'A run that may not be executed again and does not end within the drain ends as interrupted, for all followers.',
  },
  'cluster.second-signal': {
    section: '2.11',
    sentence:
      'A process that a second signal ends at once is a process that was killed: the others recover its runs.',
  },
  'cluster.database-restart': {
    section: '2.11',
    sentence:
      'When Postgres is restarted, streams pause and then continue, and new queries get 503 with Retry-After meanwhile.',
  },
  'cluster.database-connections': {
    section: '2.11',
    sentence: 'When Postgres has no connection left for some time, runs wait for one, and nothing is lost.',
  },
  'cluster.signals-lost': {
    section: '2.11',
    sentence:
      'When the connection for signals is lost, followers at other processes continue, and runs of other processes are cancelled.',
  },
  'cluster.poolers': {
    section: '2.11',
    sentence:
      'Behind PgBouncer in session or transaction mode, followers at other processes get all of an answer, also when it restarts.',
  },
  'cluster.uploads': {
    section: '2.17',
    sentence:
      'A file that was sent through one process can be queried through any, and is read in the process that executes the run.',
  },
  'cluster.clocks': {
    section: '2.11',
    sentence: 'The clocks of the processes may differ by minutes: all times are those of the database.',
  },

  'access.loopback': {
    section: '2.12',
    sentence:
      'Without credentials the service listens on loopback addresses only, and refuses to start on any other unless ACCESS=open is set.',
  },
  'access.local': {
    section: '2.12',
    sentence:
      'Without credentials the service answers requests of this machine only: it refuses other names in Host, foreign origins, cross-site requests and forwarding headers with 403, says what to configure, and does not start with TRUST_PROXY or CORS_ORIGIN=*.',
  },
  'access.cors': {
    section: '2.12',
    sentence:
      'CORS_ORIGIN allows pages of other origins; every header of the interface is allowed and exposed.',
  },
  'access.security-headers': {
    section: '2.12',
    sentence: 'Every response has security headers.',
  },
  'access.half-open': {
    section: '2.12',
    sentence: 'Connections that send no complete request do not stop the next query.',
  },
  'access.slow-request': {
    section: '2.12',
    sentence:
      'A request whose head or body takes too long is refused with 408, and its connection is closed.',
  },
  'access.proxies': {
    section: '2.12',
    sentence: 'The connections of a trusted proxy do not count as those of one address.',
  },

  'service.unknown-variable': {
    section: 'service',
    sentence:
      'A variable that resembles one of the service is named in a warning; a wrong value stops the start.',
  },
  'service.start-message': {
    section: 'service',
    sentence: 'The start message shows the address, the agent, the store and the access.',
  },
  'service.log-format': {
    section: 'service',
    sentence: 'LOG_FORMAT=json writes one JSON object per line, and LOG_LEVEL the least important level.',
  },
  'service.credentials': {
    section: 'service',
    sentence:
      'With credentials every route of the service but /health needs one, and each caller has its own runs, limits and rate.',
  },
  'service.metrics-port': {
    section: 'service',
    sentence: 'METRICS_PORT gives the metrics a port of their own, which needs no credential.',
  },
  'service.log-unread': {
    section: 'service',
    sentence: 'A reader of the output that does not read does not stop the service.',
  },
  'service.unreachable-postgres': {
    section: 'service',
    sentence: 'A Postgres server that cannot be reached is reported after a second.',
  },
  'access.key': {
    section: '2.12',
    sentence: 'The owner of an API key is key:{name}, in Authorization: Bearer or in X-API-Key.',
  },
  'access.jwt': { section: '2.12', sentence: 'The owner of a token is its issuer and its subject.' },
  'access.together': {
    section: '2.12',
    sentence: 'API keys and tokens may be used together, and never share an owner.',
  },
  'access.missing': {
    section: '2.12',
    sentence:
      'A request without a credential is 401 with WWW-Authenticate and without an error code there, and is told what to send.',
  },
  'access.refused': {
    section: '2.12',
    sentence:
      'Every credential that is not valid gets the same 401 with invalid_token, which does not say why.',
  },
  'access.several': { section: '2.12', sentence: 'A request with several credentials that differ is 400.' },
  'access.before-body': {
    section: '2.12',
    sentence: 'A request without access is refused before its body is read, and before 100 Continue.',
  },
  'access.all-routes': {
    section: '2.12',
    sentence:
      'AccessGuard guards all routes of a host except the public ones, and all its refusals are problems.',
  },
  'access.unguarded': {
    section: '2.12',
    sentence: 'Without AccessGuard, ownerOf fails instead of letting callers share their runs.',
  },
  'access.options': {
    section: '2.12',
    sentence: 'An option of AccessModule that is unknown, faulty or would let nobody pass stops the start.',
  },
  'access.forged': {
    section: '2.12',
    sentence:
      'A token that is forged, expired, not valid yet, unsigned, of another algorithm, issuer or audience is 401.',
  },
  'access.unavailable': {
    section: '2.12',
    sentence:
      'While the keys of an issuer cannot be fetched, tokens get 503 with Retry-After, and API keys work.',
  },
  'access.rotation': {
    section: '2.12',
    sentence: 'Keys of an issuer and keys of a file change while the service runs.',
  },
  'access.overlap': {
    section: '2.12',
    sentence:
      'Several API keys may have one name and so one owner: a key is replaced without a refused request.',
  },
  'access.expiry': {
    section: '2.12',
    sentence:
      'An API key that has expired is refused as one that is unknown, and the log says once which key it was.',
  },
  'access.faulty-file': {
    section: '2.12',
    sentence: 'When the file of keys becomes faulty, the keys before stay valid, and the log says so once.',
  },
  'access.isolation': {
    section: '2.12',
    sentence:
      'What belongs to another owner is exactly like what does not exist, for every call and every pair of credentials.',
  },
  'access.idempotency': { section: '2.12', sentence: 'One idempotency key of two owners starts two runs.' },
  'access.log': {
    section: '2.12',
    sentence: 'No log contains a credential, or a line break that a caller has sent.',
  },
  'rate.headers': {
    section: '2.12',
    sentence: 'Every response to a query has RateLimit-Policy and RateLimit where a rate is limited.',
  },
  'rate.limit': {
    section: '2.12',
    sentence:
      'More queries in a minute than an owner may begin are 429 with Retry-After; other owners are not affected.',
  },
  'rate.resume': { section: '2.12', sentence: 'Only queries count: no resume, no follower, no cancel.' },
  'rate.shared': { section: '2.12', sentence: 'With Postgres the limit holds for all processes together.' },
  'rate.outage': {
    section: '2.12',
    sentence: 'While Postgres cannot be reached, the limit holds for each process, and queries are answered.',
  },
  'model.answer': {
    section: 'service',
    sentence:
      'AGENT=model streams what a model at an endpoint with the interface of chat completions answers, and its usage.',
  },
  'model.provider': {
    section: 'service',
    sentence:
      'With MODEL_PROVIDER, AGENT=model asks the endpoint of a provider package of the AI SDK. Without one that fits, the service says what to install.',
  },
  'model.tools': {
    section: 'service',
    sentence:
      'The model of AGENT=model calls the tools of MCP servers over stdio and HTTP; calls and results are envelopes.',
  },
  'model.files': {
    section: 'service',
    sentence:
      'A file of a kind that MODEL_INPUTS names reaches the model as it is; any other as text, as far as it can be read.',
  },
  'model.retry': {
    section: 'service',
    sentence:
      'A request of AGENT=model that is refused for now is sent again before its first token, and never after it.',
  },
  'model.errors': {
    section: 'service',
    sentence:
      'What the endpoint of AGENT=model refuses ends the run as what it is, without anything of the response.',
  },
  'model.refused-turns': {
    section: 'service',
    sentence: 'What the endpoint of AGENT=model has refused is not sent again, and the conversation goes on.',
  },
  'model.cancel': {
    section: 'service',
    sentence: 'An acknowledged cancel of a run of AGENT=model has closed the request to the endpoint.',
  },
  'model.cancel-tool': {
    section: 'service',
    sentence: 'An MCP server is told that a call is cancelled where the call has not ended, and only there.',
  },
  'model.restart': {
    section: 'service',
    sentence:
      'A run of AGENT=model whose process is killed continues after its last completed step: no tool of it is called again.',
  },
  'model.caller-tools': {
    section: 'service',
    sentence:
      'With MODEL_KWARGS=tools, the model calls tools that the caller brings: the run asks the caller, and goes on with its result.',
  },
  'model.kwargs': {
    section: 'service',
    sentence:
      'Kwargs override what MODEL_KWARGS names, and nothing else. Values of them that are not valid are refused.',
  },
  'model.mcp-processes': {
    section: 'service',
    sentence:
      'MCP servers that are programs end with the service, also after Ctrl-C. One that has died is started again.',
  },
  'langgraph.memory': {
    section: 'module',
    sentence:
      'A graph of LangGraph with a checkpointer remembers each session of each owner, until the session is erased.',
  },
  'langgraph.cancel': {
    section: 'module',
    sentence: 'An acknowledged cancel of a run of LangGraph has aborted the request to the model.',
  },
  'langgraph.files': {
    section: 'module',
    sentence:
      'A file that a graph of LangGraph makes can be downloaded, and a graph without a checkpointer gets it in the next turn.',
  },
  'langgraph.question': {
    section: 'module',
    sentence:
      'What a node of LangGraph asks is a request of its run, and the answer goes to the node: nothing is executed again.',
  },
  'adapters.asking': {
    section: 'module',
    sentence:
      'A run of LangGraph, OpenAI Agents or Mastra that asks goes on with the answer after its process was killed. Nothing is executed before the answer, and nothing twice.',
  },
  'langgraph.killed': {
    section: 'module',
    sentence:
      'A run of LangGraph with a checkpointer goes on after its process was killed at any moment: no completed step is repeated or lost.',
  },
  'remote.answer': {
    section: 'service',
    sentence:
      'AGENT=remote passes texts, files and kwargs to the service at REMOTE_URL, and its envelopes back.',
  },
  'remote.cut': {
    section: 'service',
    sentence:
      'A cut between AGENT=remote and a service that keeps runs, at any byte, is resumed: nothing is lost, repeated or executed again.',
  },
  'remote.cancel': {
    section: 'service',
    sentence:
      'An acknowledged cancel of a run of AGENT=remote has stopped the handler of the remote service.',
  },
  'remote.large-file': {
    section: 'service',
    sentence: 'AGENT=remote passes on a file of any size in bounded memory.',
  },
  'remote.killed': {
    section: 'service',
    sentence:
      'When AGENT=remote and the service behind it are killed and start again, nothing is lost, and no query becomes two runs.',
  },
  'a2a.answer': {
    section: 'service',
    sentence:
      'AGENT=remote passes texts, files and kwargs to an agent that speaks A2A, and its artifacts back, with a context for each session of each owner.',
  },
  'a2a.cancel': {
    section: 'service',
    sentence:
      'An acknowledged cancel of a run of AGENT=remote has cancelled the task of an agent that speaks A2A.',
  },
  'a2a.killed': {
    section: 'service',
    sentence:
      'When AGENT=remote is killed in front of an agent that speaks A2A, nothing is lost or repeated, and no message is executed twice.',
  },
  'openai-agents.answer': {
    section: 'service',
    sentence:
      'An agent of OpenAI Agents streams its text, its tool calls and its usage, and remembers them in its session.',
  },
  'openai-agents.files': {
    section: 'service',
    sentence: 'An agent of OpenAI Agents gets images and PDF documents as they are.',
  },
  'openai-agents.errors': {
    section: 'service',
    sentence:
      'What the endpoint of an agent of OpenAI Agents refuses ends the run, without anything of the response.',
  },
  'openai-agents.cancel': {
    section: 'service',
    sentence: 'An acknowledged cancel of an agent of OpenAI Agents has closed the request to its model.',
  },
  'mastra.memory': {
    section: 'service',
    sentence:
      'An agent of Mastra keeps a memory for each session of each owner, which is erased with the session.',
  },
  'mastra.cancel': {
    section: 'service',
    sentence: 'An acknowledged cancel of an agent of Mastra has aborted the request to its model.',
  },
  'acp.stream': {
    section: 'service',
    sentence:
      'An agent that speaks ACP answers over HTTP with its texts, thoughts, plans and tool calls, in its order.',
  },
  'acp.approval': {
    section: 'service',
    sentence:
      'A permission request of an agent that speaks ACP is an approval of the run, which is answered over HTTP or in another protocol. What was not allowed is not executed.',
  },
  'acp.cancel': {
    section: 'service',
    sentence:
      'An acknowledged cancel of an agent that speaks ACP has ended its process and the commands that it has started.',
  },
  'acp.sessions': {
    section: 'service',
    sentence:
      'An agent that speaks ACP goes on with a session of its owner. Each owner has a home and folders of its own, and an erased session is forgotten.',
  },
  'acp.processes': {
    section: 'service',
    sentence:
      'An agent that speaks ACP has as many processes as the operator allows: further runs wait, a kept process answers the next turn of its session, and all end with the service.',
  },
  'acp.failures': {
    section: 'service',
    sentence:
      'A run whose agent speaks ACP and fails has a code and a sentence, and an end for each tool call.',
  },
  'acp.killed': {
    section: 'service',
    sentence:
      'A run of an agent that speaks ACP that asks goes on with the answer after its service was killed. What was allowed is executed once, and the agent of the killed service is ended.',
  },
  'cli.help': {
    section: 'service',
    sentence: 'The command nest-agent-query without arguments prints its help.',
  },
  'cli.keys-add': {
    section: 'service',
    sentence:
      'The command keys create adds the line of a key to a file, which stays as it is if that file is faulty.',
  },
  'cli.keys-list': {
    section: 'service',
    sentence: 'The command keys list shows whose keys there are and when they expire, and no whole digest.',
  },
  'cli.keys-create': {
    section: 'service',
    sentence: 'The command keys create prints a new key once, and the line that configures its digest.',
  },
  'cli.ask': {
    section: 'service',
    sentence: 'The command ask sends words or stdin as the text, files and kwargs.',
  },
  'cli.agent': {
    section: 'service',
    sentence: 'With --agent a command asks one of several agents.',
  },
  'cli.session-changes': {
    section: 'service',
    sentence: 'fork makes a session of the first turns of another one, and ask --after-turn replaces turns.',
  },
  'cli.continue': {
    section: 'service',
    sentence: 'The commands ask and chat with --continue continue the session that was used last.',
  },
  'cli.chat': {
    section: 'service',
    sentence:
      'The command chat asks in one session. Without a terminal each line of stdin is a text, until one does not go well.',
  },
  'cli.outputs': {
    section: 'service',
    sentence: 'The command ask writes the answer to stdout as it arrives, and everything else to stderr.',
  },
  'cli.result': {
    section: 'service',
    sentence:
      'ask --result prints only the structured result; --metadata of ask and runs gives and selects metadata.',
  },
  'cli.resume': {
    section: 'service',
    sentence: 'The command ask continues an answer whose connection is cut, and writes each piece once.',
  },
  'cli.interrupt': {
    section: 'service',
    sentence: 'A signal to the command ask cancels the run, which it says. A second signal ends it at once.',
  },
  'cli.reader': {
    section: 'service',
    sentence: 'The command ask ends quietly when the reader of its stdout has gone, and cancels the run.',
  },
  'cli.json': {
    section: 'service',
    sentence: 'With --json each envelope, run, request, session or turn is a line of JSON.',
  },
  'cli.detach': {
    section: 'service',
    sentence:
      'The command ask with --detach prints the id of a run that goes on, and follow prints its answer.',
  },
  'cli.output-files': {
    section: 'service',
    sentence: 'With --output the files of an answer are saved, and none that is there is overwritten.',
  },
  'cli.exit-codes': {
    section: 'service',
    sentence: 'The exit code tells whether the run, the command line, the service or the connection failed.',
  },
  'cli.manage': {
    section: 'service',
    sentence: 'The commands runs, sessions, session, cancel and erase show and change what a caller has.',
  },
  'cli.owners': {
    section: 'service',
    sentence:
      'The commands owners list, export and erase show, write and erase what a database has of an owner.',
  },
  'cli.history': {
    section: 'service',
    sentence:
      'The commands runs and show read the runs of all owners from a database, and say who has looked.',
  },
  'cli.copy': {
    section: 'service',
    sentence: 'The command copy brings sessions, runs, files and usage from one database to another one.',
  },
  'cli.serve': {
    section: 'service',
    sentence: 'The command serve starts the service, with a flag for each variable, which wins over it.',
  },
  'cli.serve-packages': {
    section: 'service',
    sentence:
      'The command serve names the package of an agent that is not installed, and serves one that says what arrives where none is.',
  },
  'cli.start-up': {
    section: 'service',
    sentence: 'Commands that ask a service load nothing of Nest.',
  },
  'cli.doctor': {
    section: 'service',
    sentence:
      'The command doctor finds what proxies do to streams, headers, methods and bodies, and says what helps.',
  },
  'cli.proxy': {
    section: 'service',
    sentence:
      'The command line goes through the forward proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names.',
  },
  'cli.proxy-fault': {
    section: 'service',
    sentence: 'The command line says what is wrong with a forward proxy, and never its password.',
  },
  'cli.doctor-exit': {
    section: 'service',
    sentence:
      'The exit code of doctor is 0 where all is fine, 1 for a problem, 2 for wrong usage, 3 without access and 4 without ' +
      'a connection.',
  },
  'service.diagnostic': {
    section: 'service',
    sentence:
      'The path of an agent and /diagnostic answers tests with events at known times, apart from the runs of callers.',
  },
  'cli.asks': {
    section: 'service',
    sentence:
      'Without a terminal, a command whose run asks says how to answer, ends with the exit code 5, and leaves the run as it is.',
  },
  'cli.answer': {
    section: 'service',
    sentence:
      'The command answer answers a request of a run, and prints how the answer goes on with --follow.',
  },
  'cli.answer-usage': {
    section: 'service',
    sentence: 'The command answer refuses what is no answer, or more than one, before it sends anything.',
  },
  'cli.inputs': {
    section: 'service',
    sentence: 'The command inputs lists what runs ask, or all that one run has asked.',
  },
  'cli.usage': {
    section: 'service',
    sentence: 'The command usage adds up what the caller has used by day, model or session.',
  },
  'client.session-changes': {
    section: 'client',
    sentence: 'The client replaces turns of a session, and forks it.',
  },
  'client.usage': {
    section: 'client',
    sentence: 'The client returns what the caller has used.',
  },
  'client.any-cut': {
    section: 'client',
    sentence:
      'The typed client yields each envelope once and in order, wherever its connection is cut, and the handler runs once.',
  },
  'client.cut-upload': {
    section: 'client',
    sentence: 'The typed client sends a query again whose upload was cut, and the handler runs once.',
  },
  'client.large-files': {
    section: 'client',
    sentence:
      'The client sends large files before their query, and only those that the service does not have; with the query where the service does not take them.',
  },
  'client.files': {
    section: 'client',
    sentence: 'The typed client sends files from File, Blob, bytes, streams and paths, byte for byte.',
  },
  'client.file-faults': {
    section: 'client',
    sentence:
      'The typed client says which file of a query cannot be read or cannot be sent again, and no handler runs.',
  },
  'client.readers': {
    section: 'client',
    sentence: 'All readers of one answer of the typed client see all envelopes, whenever they begin.',
  },
  'client.leave': {
    section: 'client',
    sentence:
      'Whoever leaves an answer of the typed client closes its connection, does not cancel the run, and can go on later.',
  },
  'client.cancel': {
    section: 'client',
    sentence: 'The typed client cancels a run, and gives up a query that is still being sent.',
  },
  'client.detached': {
    section: 'client',
    sentence: 'The typed client can start a run without following it, and follow it later from any envelope.',
  },
  'client.end': {
    section: 'client',
    sentence:
      'The typed client throws the code of a run that failed or was cancelled from text(), and returns it from result().',
  },
  'client.refused': {
    section: 'client',
    sentence: 'The typed client throws the code, the status and the faults of a query that is refused.',
  },
  'client.retry-after': {
    section: 'client',
    sentence: 'The typed client waits as long as Retry-After asks for, and then sends the query again.',
  },
  'client.expired': {
    section: 'client',
    sentence: 'The typed client reports a log that was trimmed, with the range that is kept.',
  },
  'client.lists': {
    section: 'client',
    sentence: 'The typed client lists, reads and erases runs and sessions.',
  },
  'client.resumes-session': {
    section: 'client',
    sentence:
      'The typed client returns all turns of a session, and the answer that goes on, whether its run waits, executes or asks.',
  },
  'client.asks': {
    section: 'client',
    sentence:
      'The typed client reads on while a run asks, knows what is open, and reads the rest as soon as it has answered.',
  },
  'client.inputs': {
    section: 'client',
    sentence: 'The typed client lists what runs ask, and what has become of it.',
  },
  'client.answer-again': {
    section: 'client',
    sentence: 'The typed client sends an answer to a run again whose response was lost, and it counts once.',
  },
  'client.answer-refused': {
    section: 'client',
    sentence:
      'The typed client throws the code of an answer to a run that is refused, and what counts instead.',
  },
  'client.download': {
    section: 'client',
    sentence: 'The typed client reads files of an answer, whole and in ranges.',
  },

  'asking.envelope': {
    section: '2.13',
    sentence:
      'A run that asks writes one envelope input_required with all requests, and one input_resolved for each call that answers.',
  },
  'asking.status': {
    section: '2.13',
    sentence:
      'A run that asks has the status input_required in its JSON and in lists, and its session names it in asking.',
  },
  'asking.inbox': {
    section: '2.13',
    sentence: 'GET inputs lists the open requests of all runs of the caller, newest first, in pages.',
  },
  'asking.inputs': {
    section: '2.13',
    sentence: 'GET of the inputs of a run lists all that it has asked, with what has become of it.',
  },
  'asking.slot': {
    section: '2.13',
    sentence: 'A run that asks has no slot: another run executes meanwhile.',
  },
  'asking.first': {
    section: '2.13',
    sentence: "After the answer a run is the first of its owner's queue, before the younger ones.",
  },
  'asking.turns': {
    section: '2.13',
    sentence: 'A run that was answered gets a slot in the turn of its owner, not before the runs of others.',
  },
  'asking.time-limit': {
    section: '2.13',
    sentence: 'The time limit does not count while a run asks, and counts again afterwards.',
  },
  'asking.disconnect': {
    section: '2.13',
    sentence: 'The disconnect policy does not count while a run asks, and counts again afterwards.',
  },
  'asking.hold': {
    section: '2.13',
    sentence:
      'A stream of a run that asks is held with keep-alives, and then ends without done. A GET sends what is missing and holds again.',
  },
  'asking.held-answer': {
    section: '2.13',
    sentence: 'The answer arrives on a held stream, and so does what follows.',
  },
  'asking.supersede': {
    section: '2.13',
    sentence:
      'A newer query of the session supersedes a run that asks: its requests are superseded, it ends as cancelled, and the query starts.',
  },
  'asking.enqueue': {
    section: '2.13',
    sentence:
      'With onAsking `enqueue`, a newer query of the session waits until the run that asks has ended.',
  },
  'asking.reject': {
    section: '2.13',
    sentence: 'With onAsking `reject`, a newer query of the session gets 409, and the run goes on asking.',
  },
  'asking.held-request': {
    section: '2.13',
    sentence: 'A request with hold is never superseded, whatever the policies are.',
  },
  'asking.queue': {
    section: '2.13',
    sentence: 'Queries that waited before the run has asked stay in their order.',
  },
  'asking.history': {
    section: '2.13',
    sentence: 'The next turn has a result for each call that was not answered.',
  },
  'asking.cancel': {
    section: '2.13',
    sentence: 'A run that asks can be cancelled, as any run: its requests are cancelled.',
  },
  'asking.erase': { section: '2.13', sentence: 'A session with a run that asks can be erased.' },
  'asking.shutdown': {
    section: '2.13',
    sentence: 'A run that asks in memory ends as interrupted when its process stops.',
  },
  'asking.repeated': {
    section: '2.13',
    sentence: 'A query that repeats an idempotency key attaches to the run that asks.',
  },
  'asking.limit': {
    section: '2.13',
    sentence: 'An owner has at most so many runs that ask: one more cannot ask, and gets rate_limited.',
  },
  'asking.once': {
    section: '2.13',
    sentence:
      'Whatever happens at the same time, each request has exactly one outcome in the log, the numbers have no gaps, and done is the last.',
  },
  'ask.order': {
    section: '2.13',
    sentence: 'What a handler emits while it asks comes behind the answer, in its order.',
  },
  'ask.parallel': {
    section: '2.13',
    sentence: 'Two questions that a handler asks at the same time are asked one after the other.',
  },
  'ask.keys': {
    section: '2.13',
    sentence: 'A key that the run has asked before has its recorded answer at once.',
  },
  'ask.limits': {
    section: '2.13',
    sentence: 'A pause has 1 to 64 questions, and a question at most 256 KiB.',
  },
  'ask.invalid': {
    section: '2.13',
    sentence: 'A question that is not valid is not asked, and the handler is told what is wrong.',
  },
  'ask.ended': {
    section: '2.13',
    sentence:
      'A handler whose run has ended cannot ask: it gets the reason of its signal, and so does one that asks when its run ends.',
  },
  'ask.copies': {
    section: '2.13',
    sentence:
      'What is asked and what was answered stay as they are, whatever the handler does with its objects.',
  },
  'ask.reserved': {
    section: '2.13',
    sentence: 'A handler cannot write input_required or input_resolved itself.',
  },
  'answer.kinds': {
    section: '2.13',
    sentence:
      'Each kind of request takes the values that the interface names. Others get 400 invalid_answer with JSON Pointers.',
  },
  'answer.limits': {
    section: '2.13',
    sentence:
      'The value for an input has at most 256 KiB of JSON and 10,000 values, and one whose check takes too long is refused.',
  },
  'answer.body': {
    section: '2.13',
    sentence: 'A body that is not a list of answers is refused with its faults, and nothing is answered.',
  },
  'answer.private': {
    section: '2.13',
    sentence: "The value for a private request is in no log, list, problem or line of the operator's log.",
  },
  'answer.partial': {
    section: '2.13',
    sentence: 'Some requests may be answered now and others later; the run goes on when none is open.',
  },
  'answer.atomic': { section: '2.13', sentence: 'One call answers all of its requests, or none.' },
  'answer.again': {
    section: '2.13',
    sentence: 'The same answer again is accepted, also after the end of the run, and changes nothing.',
  },
  'answer.first': {
    section: '2.13',
    sentence: 'The first answer counts: another one gets 409 input_resolved, with what won and when.',
  },
  'answer.late': {
    section: '2.13',
    sentence: 'An answer that comes too late gets 409: input_expired, or run_ended.',
  },
  'answer.unknown': {
    section: '2.13',
    sentence:
      'A run that is unknown or of somebody else gets the same 404; so does a request that is unknown.',
  },
  'answer.stream': {
    section: '2.13',
    sentence:
      'Answers that accept text/event-stream get the stream from the answer on, or after Last-Event-ID; others the run as JSON.',
  },
  'answer.cursor': {
    section: '2.13',
    sentence: 'A cursor that the log of the run does not have is refused, and nothing is answered.',
  },
  'answer.unfollowed': {
    section: '2.13',
    sentence: 'An answer without a stream lets the run continue when nobody follows it.',
  },
  'answer.others': {
    section: '2.13',
    sentence:
      "Whoever the host's canAnswer admits answers requests of others, and sees only these. Without the option, nobody does.",
  },
  'answer.modules': { section: '2.13', sentence: "Modules of one host do not see each other's requests." },
  'expiry.outcomes': {
    section: '2.13',
    sentence:
      'A request that expires has the outcome of its onExpire: without a value, with one, or the run fails.',
  },
  'expiry.default': {
    section: '2.13',
    sentence:
      'A request expires after 24 h, or after askInMemoryMs where the handler cannot be called again.',
  },
  'expiry.late': {
    section: '2.13',
    sentence: 'An answer after the expiry changes nothing; one at the same time has one outcome.',
  },

  'service.webhooks': {
    section: 'service',
    sentence:
      'WEBHOOKS_FILE names the endpoints of all agents; the command line lists webhooks and sends them again.',
  },
  'service.webhooks-crash': {
    section: 'service',
    sentence: 'A webhook that was not answered when the process was killed is sent again by the next one.',
  },
  'service.webhooks-file': {
    section: 'service',
    sentence: 'A file of endpoints with faults ends the start, which names all of them, and no secret.',
  },
  'webhook.sent': {
    section: '2.15',
    sentence:
      'Each event of a run is sent to the endpoints that want it, with the run as it was then, and the ids of what it asks.',
  },
  'webhook.signed': {
    section: '2.15',
    sentence: 'A webhook is signed as Standard Webhooks 1.0 says, with each secret of its endpoint.',
  },
  'webhook.retried': {
    section: '2.15',
    sentence:
      'A webhook that is not answered with 2xx is sent again, with the same id and body: ten times over three days.',
  },
  'webhook.retry-after': { section: '2.15', sentence: 'A pause is not shorter than Retry-After asks for.' },
  'webhook.gone': {
    section: '2.15',
    sentence: 'An endpoint that answers 410 gets nothing more, until a webhook is sent to it again by hand.',
  },
  'webhook.redirects': { section: '2.15', sentence: 'A redirect is not followed: it is a failure.' },
  'webhook.private': {
    section: '2.15',
    sentence:
      'Nothing is sent to an address that is not public, however it is written, unless that is allowed.',
  },
  'webhook.slow': {
    section: '2.15',
    sentence:
      'An endpoint that does not answer in time has not got the webhook, and holds up no other endpoint.',
  },
  'webhook.status': {
    section: '2.15',
    sentence: 'The status of a response decides as soon as it is there, also if its body has no end.',
  },
  'webhook.long-response': { section: '2.15', sentence: 'Of a response, no more than 64 KiB are read.' },
  'webhook.order': {
    section: '2.15',
    sentence: 'The webhooks of one run arrive at an endpoint in the order of its events.',
  },
  'webhook.listed': {
    section: '2.15',
    sentence: 'A caller lists the webhooks of a run, with what has become of each.',
  },
  'webhook.again': {
    section: '2.15',
    sentence: 'A caller sends a webhook of a run again, whatever has become of it.',
  },
  'webhook.owner': {
    section: '2.15',
    sentence: 'Nobody else sees the webhooks of a run or sends them again: they do not exist.',
  },
} as const satisfies Record<string, PromiseOfInterface>;

export type PromiseId = keyof typeof PROMISES;

/**
 * The title of a test: the promise that it checks, and where one promise has several tests, in which case.
 *
 * @param detail may have the placeholders of `it.each`
 */
export function promise(id: PromiseId, detail?: string): string {
  const { sentence } = PROMISES[id];
  return detail === undefined ? `${id}: ${sentence}` : `${id}: ${sentence} [${detail}]`;
}
