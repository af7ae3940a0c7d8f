/** What the agent says when it fails. A client that shows a failure shows this sentence. */
export const SENTENCE = 'The warehouse is closed until Monday.';
