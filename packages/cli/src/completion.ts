import { Argument, Command, type Option } from 'commander';
import { printableLine } from './printable.js';

/** The scripts ask the command itself. Where it has no proposal, the shell proposes files. */
const SCRIPTS = {
  bash: `_nest_agent_query() {
  local IFS=$'\\n' line
  COMPREPLY=()
  for line in $(nest-agent-query complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done
}
complete -o default -F _nest_agent_query nest-agent-query
`,
  zsh: `#compdef nest-agent-query
_nest_agent_query() {
  local -a lines
  local tab=$'\\t'
  lines=("\${(@f)$(nest-agent-query complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$lines[1]" ]]; then
    lines=("\${(@)lines//:/\\\\:}")
    lines=("\${(@)lines/$tab/:}")
    _describe 'nest-agent-query' lines
  else
    _files
  fi
}
compdef _nest_agent_query nest-agent-query
`,
  fish: `function __nest_agent_query
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l lines (nest-agent-query complete -- $words[2..-1] "$current" 2>/dev/null)
  if test (count $lines) -gt 0
    printf '%s\\n' $lines
  else
    __fish_complete_path "$current"
  end
end
complete -c nest-agent-query -f -a '(__nest_agent_query)'
`,
};

const AFTER_HELP = `
Examples:
  $ nest-agent-query completion bash >> ~/.bashrc
  $ nest-agent-query completion zsh >> ~/.zshrc     # after compinit
  $ nest-agent-query completion fish > ~/.config/fish/completions/nest-agent-query.fish
`;

/** `nest-agent-query completion SHELL`: prints the script that completes commands, options and files. */
export function completionCommand(): Command {
  return new Command('completion')
    .summary('Print the script that completes commands in a shell.')
    .description('Print the script that completes commands, options and files in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', AFTER_HELP)
    .action((shell: keyof typeof SCRIPTS) => void process.stdout.write(SCRIPTS[shell]));
}

/** `nest-agent-query complete -- WORDS`: what the scripts ask. The last word is the one that is completed. */
export function completeCommand(program: Command): Command {
  return new Command('complete').argument('[words...]').action((words: string[]) => {
    const lines = proposals(program, words).map(
      ([value, meaning]) => `${value}\t${printableLine(meaning)}\n`,
    );
    process.stdout.write(lines.join(''));
  });
}

type Proposal = [value: string, meaning: string];

/** Where a word stands. */
interface Place {
  command: Command;
  /** The option whose value it is. */
  awaiting: Option | undefined;
  /** Whether it stands after "--", so that it is no option. */
  isPlain: boolean;
}

/** What may stand where the last word is, each with its meaning. Empty where a file may, or anything. */
function proposals(program: Command, words: string[]): Proposal[] {
  const current = words.at(-1) ?? '';
  const place = placeAfter(program, words.slice(0, -1));
  return candidates(program, place, current).filter(([value]) => value.startsWith(current));
}

function candidates(program: Command, { command, awaiting, isPlain }: Place, current: string): Proposal[] {
  if (awaiting) return choices(awaiting);
  if (current.startsWith('-') && !isPlain)
    return optionsOf(program, command).map((option) => [option.long ?? option.short!, option.description]);
  if (command.commands.length === 0) return choices(command.registeredArguments[0]);
  const commands = command.createHelp().visibleCommands(command);
  return commands.map((each) => [each.name(), each.summary() || each.description()]);
}

function choices(of: { argChoices?: string[] } | undefined): Proposal[] {
  return (of?.argChoices ?? []).map((choice) => [choice, '']);
}

function placeAfter(program: Command, words: string[]): Place {
  const place: Place = { command: program, awaiting: undefined, isPlain: false };
  for (const word of words) {
    if (place.awaiting) place.awaiting = undefined;
    else if (word === '--') place.isPlain = true;
    else if (word.startsWith('-') && !place.isPlain) {
      const isNamed = ({ short, long }: Option) => word === short || word === long;
      place.awaiting = optionsOf(program, place.command).find((option) => isNamed(option) && option.required);
    } else place.command = place.command.commands.find((each) => each.name() === word) ?? place.command;
  }
  return place;
}

/** The options of a command, and those that hold for every command that asks a service. */
function optionsOf(program: Command, command: Command): readonly Option[] {
  const own = command.createHelp().visibleOptions(command);
  return command.createHelp().showGlobalOptions ? [...own, ...program.options] : own;
}
