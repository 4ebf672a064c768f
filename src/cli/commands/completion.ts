import { type Command, command, UsageError } from './command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** @param commands all commands, which include this one */
export function completionCommand(commands: () => readonly Command[]): Command {
  return command({
    name: 'completion',
    summary:
      'Print a script that completes commands and options: `source <(jobferry completion bash)`, or zsh; `jobferry completion fish | source`.',
    options: {},
    argument: { name: 'SHELL', what: SHELLS.join(', ') },
    isService: true,
    run: async ({ argument }) => {
      const shell = SHELLS.find((known) => known === argument);
      if (shell === undefined) throw new UsageError(`SHELL must be one of ${SHELLS.join(', ')}`);
      console.log(scriptFor(shell, commands()));
      return null;
    },
  });
}

/**
 * The words that can follow each beginning of a command: `''` → `serve`, `queue` …, `queue` → `list` …,
 * `queue list` → options.
 */
export function wordsAfter(commands: readonly Command[]): Map<string, string[]> {
  const words = new Map<string, string[]>();
  const add = (before: string, word: string) => {
    const known = words.get(before) ?? [];
    if (!known.includes(word)) words.set(before, [...known, word]);
  };
  for (const { name, options, isService } of commands) {
    const [group = '', verb] = name.split(' ');
    add('', group);
    if (verb !== undefined) add(group, verb);
    for (const option of Object.keys(options)) add(name, `--${option}`);
    if (isService !== true) add(name, '--json');
    add(name, '--help');
  }
  return words;
}

function scriptFor(shell: Shell, commands: readonly Command[]): string {
  const words = [...wordsAfter(commands)];
  if (shell === 'fish') return fish(commands, words);
  const cases = words.map(([before, after]) => `    '${before}') words='${after.join(' ')}';;`).join('\n');
  const key = [
    '  local first="$1" second="$2" words=""',
    `  case "$first $second" in`,
    // An option or an argument is no verb of a group.
    ...words.filter(([before]) => before.includes(' ')).map(([before]) => `    '${before}') key="$first $second";;`),
    `    *) key="$first";;`,
    '  esac',
  ].join('\n');
  const lookup = [
    '_jobferry_words() {',
    '  local key',
    key,
    '  case "$key" in',
    cases,
    '  esac',
    '  echo "$words"',
    '}',
  ];
  return [...lookup, shell === 'bash' ? BASH : ZSH].join('\n');
}

const BASH = `_jobferry() {
  local current="\${COMP_WORDS[COMP_CWORD]}"
  local first="" second=""
  [ "$COMP_CWORD" -gt 1 ] && first="\${COMP_WORDS[1]}"
  [ "$COMP_CWORD" -gt 2 ] && second="\${COMP_WORDS[2]}"
  COMPREPLY=($(compgen -W "$(_jobferry_words "$first" "$second")" -- "$current"))
}
complete -o default -F _jobferry jobferry`;

const ZSH = `_jobferry() {
  local first="" second=""
  (( CURRENT > 2 )) && first="\${words[2]}"
  (( CURRENT > 3 )) && second="\${words[3]}"
  local -a candidates
  candidates=(\${=$(_jobferry_words "$first" "$second")})
  compadd -a candidates || _files
}
compdef _jobferry jobferry`;

function fish(commands: readonly Command[], words: readonly [string, string[]][]): string {
  const helpOf = (name: string) => commands.find((one) => one.name === name)?.summary.split('. ')[0] ?? '';
  const lines = words.flatMap(([before, after]) => {
    const [group = '', verb] = before.split(' ');
    const none = before === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${group}`;
    const isVerb = verb === undefined ? none : `${none}; and __fish_seen_subcommand_from ${verb}`;
    return after.map((word) =>
      word.startsWith('--')
        ? `complete -c jobferry -n '${isVerb}' -l ${word.slice(2)}`
        : `complete -c jobferry -f -n '${isVerb}' -a ${word} -d ${quoted(helpOf(before === '' ? word : `${before} ${word}`))}`,
    );
  });
  return lines.join('\n');
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}
