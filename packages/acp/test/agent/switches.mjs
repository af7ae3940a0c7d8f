/**
 * What the agent is like. Each is a behaviour that was seen in a real agent.
 *
 * Start: `noise` writes lines on stdout that are no JSON, `stderr=TEXT`, `dead=CODE` ends at once, `mute` never answers
 * `initialize`, `version=N`, `auth` needs `authenticate`, `new-fails`, `stays` lives on when its input is closed, `deaf`
 * ignores SIGTERM, `records=FILE` keeps what it receives, `images` and `embedded` are capabilities.
 *
 * Sessions: `resume` (can resume), `no-load`, `load-fails=CODE`, `load-once` (the second load loses the conversation),
 * `modes=a,b` (the first is that of the start; empty: none), `options=a,b` (values of the option `depth`), `children` (a
 * process for each session until it is closed), `late` (updates that come later than the answer).
 *
 * Calls: `alone` (asks without a call before), `filling` (arguments come later), `twice` (two `tool_call` of an id),
 * `bare` (no title, no kind), `named` (with the name of the tool), `choices=two` (two `allow_once`), `choices=always` (no `allow_once`), `choices=plan`,
 * `rejected=end_turn` or `rejected=cancelled` (ends the turn), `untold` (no update of a rejected call), `holds` (does not
 * answer the prompt while a permission is open), `withdraws` (`$/cancel_request` at a cancel), `keeps` (commands go on
 * after a cancel), `changes` (other arguments when it calls again).
 *
 * Answers: `ids` (chunks with `messageId`), `usage=response`, `quota`, `claude`, `chunk`, `none`, `slow-end=MS`.
 */
const switches = new Map(
  (process.env.AGENT_IS ?? '')
    .split(';')
    .filter((each) => each !== '')
    .map((each) => {
      const [, name, value = ''] = /^([^=]+)(?:=(.*))?$/s.exec(each);
      return [name, value];
    }),
);

export const is = (name) => switches.has(name);
export const valueOf = (name) => switches.get(name);
