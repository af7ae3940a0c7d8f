/** The names that agents give to a tool that executes a command, or that writes a file. */
const NAMES = {
  shell: ['exec_command', 'run_shell_command', 'shell', 'bash'],
  write: ['write_file', 'write', 'create'],
};

/** Members of arguments, by what they mean. */
const MEANINGS = [
  [/^(?:cmd|command)$/, ({ command }) => command],
  [/^(?:file_?path|path|fileName)$/i, ({ name }) => name],
  [/^(?:content|file_text)$/, ({ content }) => content],
];

/** The tool that an agent offers for a purpose, by its name. */
export function toolFor(tools, purpose) {
  return NAMES[purpose].map((name) => tools.find((tool) => tool.name.toLowerCase() === name)).find(Boolean);
}

/** Arguments that the schema of the tool takes: those with a meaning, and something for each other one that is required. */
export function argumentsOf({ schema }, wanted) {
  const { properties = {}, required = [] } = schema ?? {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, property]) => {
      const value = MEANINGS.find(([pattern]) => pattern.test(name))?.[1](wanted);
      if (value !== undefined) return [[name, property.type === 'array' ? ['sh', '-c', value] : value]];
      return required.includes(name) ? [[name, anyOf(property)]] : [];
    }),
  );
}

function anyOf({ type, enum: values }) {
  if (values) return values[0];
  return { boolean: false, number: 1, integer: 1, array: [], object: {} }[type] ?? 'as asked';
}
