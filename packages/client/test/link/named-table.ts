import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Named {
  readonly name: string;
  /** The text of its comment. */
  readonly meaning: string;
}

/** LINK_TABLE as it stands in its source: with names, which its numbers have lost. */
export interface NamedTable {
  readonly states: readonly Named[];
  readonly events: readonly Named[];
  /** The moves that change something, each with its next state. */
  readonly moves: readonly (Named & { readonly to: string })[];
  /** KEEPS, and why the other cells without a move are unreachable. */
  readonly others: readonly Named[];
  /** The names of moves and others by state and event. */
  readonly cells: readonly (readonly string[])[];
}

const SOURCE = join(import.meta.dirname, '../../link/link-table.ts');

export function readNamedTable(): NamedTable {
  const source = readFileSync(SOURCE, 'utf8');
  const constants = [
    ...source.matchAll(/^\/\*\* (.*) \*\/\n(?:export )?const (\w+)(?:: LinkMove)? = (?:\d+ \+ )?(\w+);$/gm),
  ].map(([, meaning = '', name = '', value = '']) => ({ name, meaning, to: value }));
  const rows = [...source.matchAll(/^ {2}\/\* (\w+) \*\/ \[(.*)\],$/gm)];
  const columns = /^ {2}\/\/ +(NEXT .*)$/m.exec(source)?.[1]?.split(/ +/) ?? [];
  const named = (name: string) => constants.find((one) => one.name === name) ?? { name, meaning: '?' };
  const states = rows.map(([, name = '']) => named(name));
  const isState = (name: string) => states.some((one) => one.name === name);
  const others = constants.filter(({ to, name }) => to === '0' && name !== columns[0] && !isState(name));
  return {
    states,
    events: columns.map(named),
    moves: constants.filter(({ to }) => isState(to)),
    others,
    cells: rows.map(([, , cells = '']) => cells.split(', ')),
  };
}

/** Returns the table as link/README.md has it. */
export function drawTable({ states, events, moves, others, cells }: NamedTable): string {
  const line = (...parts: readonly string[]) => `| ${parts.join(' | ')} |\n`;
  const names = (all: readonly Named[], what: string) =>
    line(what, '') +
    line('---', '---') +
    all.map(({ name, meaning }) => line(`\`${name}\``, meaning)).join('');
  const grid =
    line('', ...events.map(({ name }) => name)) +
    line(...['', ...events].map(() => '---')) +
    cells.map((row, state) => line(`**${states[state]?.name}**`, ...row)).join('');
  const ways =
    line('move', 'next', '') +
    line('---', '---', '---') +
    moves.map(({ name, to, meaning }) => line(`\`${name}\``, `\`${to}\``, meaning)).join('');
  return [names(states, 'state'), names(events, 'event'), grid, ways, names(others, 'no move')].join('\n');
}
