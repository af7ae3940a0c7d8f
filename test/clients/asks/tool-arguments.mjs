/** The arguments of the tool that an agent is in MCP. */
export function argumentsOf({ text, session, files }) {
  return { text, files, ...(session && { kwargs: { session_id: session } }) };
}
