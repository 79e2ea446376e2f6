/** Commands of one to three words, whose options all take a value, most of them by name. */

import { parseArgs } from 'node:util';
import { nearestName } from '@parley/protocol/validation/nearest-name.ts';
import { type Command, type Commands, type Options, UsageError } from '../../core/features/command.ts';

export function wantsHelp(args: readonly string[]): boolean {
  return args[0] === HELP || args.some((arg) => arg === '--help' || arg === '-h');
}

/** Throws UsageError. */
export function parseCommand(
  commands: Commands,
  args: readonly string[],
): { readonly command: Command; readonly options: Options } {
  const name = nameIn(commands, args);
  const command = commands[name];
  if (command === undefined) throw new UsageError(unknownCommand(Object.keys(commands), name));
  const options = parseOptions(args.slice(name.split(' ').length), name, command);
  for (const [option, { required, value, check }] of Object.entries(command.options)) {
    const text = options[option];
    if (text === undefined) {
      if (required) throw new UsageError(`${name} needs --${option} ${value}`);
    } else if (text.trim() === '' || check?.test(text) === false) {
      throw new UsageError(`--${option} must be ${check?.accepts ?? 'some text'}`);
    }
  }
  return { command, options };
}

/** Returns a line for each command that begins with `args`; for a single one also the options. */
export function usageOf(commands: Commands, program: string, args: readonly string[]): string {
  const wanted = nameIn(commands, args[0] === HELP ? args.slice(1) : args);
  const matching = Object.entries(commands).filter(([name]) => `${name} `.startsWith(`${wanted} `));
  const [first, ...others] = matching;
  if (first === undefined || others.length > 0) {
    const shown = matching.length > 0 ? matching : Object.entries(commands);
    const lines = columns(shown.map(([name, { help }]) => [name, help]));
    return `usage: ${program} <command> [--option value …]\n\n${lines}\n\nOptions of a command: ${program} <command> --help\n`;
  }
  const [name, { help, options, first: unnamed }] = first;
  const words = Object.entries(options).map(([option, { value, required }]) => {
    const flag = option === unnamed ? `[--${option}]` : `--${option}`;
    return required ? ` ${flag} ${value}` : ` [${flag} ${value}]`;
  });
  const lines = columns(Object.entries(options).map(([option, { help }]) => [`--${option}`, help]));
  return `usage: ${program} ${name}${words.join('')}\n\n${help}\n${lines === '' ? '' : `\n${lines}\n`}`;
}

const HELP = 'help';

/** Returns the command that the words before the options begin with, or the beginning of one. */
function nameIn(commands: Commands, args: readonly string[]): string {
  const end = args.findIndex((arg) => arg.startsWith('-'));
  const words = end === -1 ? args : args.slice(0, end);
  const names = [3, 2].map((count) => words.slice(0, count).join(' '));
  return names.find((name) => Object.hasOwn(commands, name)) ?? names[1]!;
}

function unknownCommand(names: readonly string[], name: string): string {
  const nearest = nearestName(name, names);
  const meant = nearest === undefined ? `there are ${names.join(', ')}` : `did you mean "${nearest}"?`;
  return `${name === '' ? 'no command' : `no command "${name}"`}; ${meant}`;
}

function parseOptions(args: readonly string[], name: string, { options, first }: Command): Options {
  const config = Object.fromEntries(
    Object.keys(options).map((option) => [option, { type: 'string' as const }]),
  );
  const { values, positionals } = parseStrictly(withDashedValues(args, config), config, name);
  const [value, ...others] = positionals;
  if (value === undefined) return values;
  if (first !== undefined && values[first] === undefined && others.length === 0) {
    return { ...values, [first]: value };
  }
  throw new UsageError(unnamedValue(args, name, options));
}

function parseStrictly(
  args: string[],
  options: Readonly<Record<string, { readonly type: 'string' }>>,
  name: string,
): { readonly values: Options; readonly positionals: readonly string[] } {
  try {
    const { values, positionals } = parseArgs({ args, options, strict: true, allowPositionals: true });
    return { values: values as Options, positionals };
  } catch (error) {
    const known = Object.keys(options).map((option) => `--${option}`);
    const { message, code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw new UsageError(message.split('\n')[0]);
    const [, unknown = ''] = /'(--?[^']*)'/.exec(message) ?? [];
    const nearest = nearestName(unknown, known);
    const has = known.length > 0 ? `has ${known.join(', ')}` : 'has no options';
    throw new UsageError(
      `${name} has no ${unknown}; ${nearest === undefined ? `it ${has}` : `did you mean ${nearest}?`}`,
    );
  }
}

/**
 * Joins an option and a value that begins with a dash, as one in 64 public keys does: parseArgs
 * would take the value for an option and call it ambiguous. Text in the form of an option stays
 * one, so that a misspelt name is still found.
 */
function withDashedValues(args: readonly string[], options: Readonly<Record<string, unknown>>): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const option = joined.at(-1);
    const isValue = arg.startsWith('-') && !/^--?[a-z-]+(=|$)/.test(arg);
    const isAwaited = option?.startsWith('--') && option.slice(2) in options;
    if (isValue && isAwaited) joined[joined.length - 1] = `${option}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}

/** Reports a value without a name, probably meant for the first missing required option. */
function unnamedValue(args: readonly string[], name: string, options: Command['options']): string {
  const named = new Set(args.map((arg) => arg.split('=')[0]));
  const value = args.find((arg, i) => !arg.startsWith('-') && !/^--[^=]+$/.test(args[i - 1] ?? '')) ?? '';
  const meant = Object.keys(options).find((option) => options[option]?.required && !named.has(`--${option}`));
  const known = Object.keys(options).map((option) => `--${option}`);
  const remedy =
    meant !== undefined
      ? `did you mean --${meant} ${value}?`
      : known.length > 0
        ? `its options are ${known.join(', ')}`
        : 'it has no options';
  return `${name} takes no "${value}" without the name of an option; ${remedy}`;
}

function columns(rows: readonly (readonly [left: string, right: string])[]): string {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
