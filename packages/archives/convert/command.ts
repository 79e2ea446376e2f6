#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { UnreadableArchive } from '../reader.ts';
import { ARCHIVE_SOURCES, COUNTED, type Counts } from '../record.ts';
import { convertArchive } from './convert-archive.ts';
import type { Remark } from './converted-writer.ts';

const HELP = `Usage: parley-archives convert <source> <archive> <new file>

Turns an archive of another chat into one of Parley, which an import takes with the source parley.
The source is slack, mattermost, zulip or parley, and the new file is a zip.

  parley-archives convert slack slack-export.zip parley.zip

Prints what is left out or changed, and what the new file has. Ends with 0; with 1 if the archive
cannot be converted; with 2 if the command is another one.
`;

/** Runs the command. Resolves with its exit code. */
async function run(args: readonly string[]): Promise<number> {
  const asked = parsed(args);
  if (asked === undefined) return 2;
  if (asked.help) return print(HELP);
  const { source, from, to } = asked;
  const stop = new AbortController();
  const onSignal = () => stop.abort(new Error('It was stopped, and nothing is left of it.'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, onSignal);
  try {
    return print(
      reportOf(await convertArchive({ source, from, to, onRemark: printRemark, signal: stop.signal }), to),
    );
  } catch (error) {
    return complain(stop.signal.aborted ? stop.signal.reason : error, 1);
  }
}

function parsed(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { help: { type: 'boolean', short: 'h', default: false } },
      allowPositionals: true,
    });
    const [command, of, from, to, ...more] = positionals;
    const source = ARCHIVE_SOURCES.find((it) => it === of);
    if (values.help) return { help: true } as const;
    if (command !== 'convert' || from === undefined || to === undefined || more.length > 0) {
      throw new Error('convert takes a source, an archive and a new file. See --help.');
    }
    if (source === undefined) throw new Error(`The source is one of: ${ARCHIVE_SOURCES.join(', ')}.`);
    return { help: false, source, from, to } as const;
  } catch (error) {
    complain(error, 2);
    return undefined;
  }
}

/** Each remark has a line, as in the list of an import. */
function printRemark(remark: Remark): void {
  const { reason, detail, where } = remark;
  const what = remark.type === 'note' ? 'changed' : `left out: ${remark.count} of ${remark.of}`;
  print(`${what}, ${reason}: ${detail} (${where})\n`);
}

function reportOf(counts: Counts, to: string): string {
  const lines = COUNTED.flatMap((of) => (counts[of] > 0 ? [`${of}: ${counts[of]}\n`] : []));
  return `${lines.join('')}${to} is complete.\n`;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function complain(error: unknown, code: number): number {
  const { message } = error as Error;
  // An error of a file begins with its code.
  const sentence = error instanceof UnreadableArchive ? message : message.replace(/^E[A-Z]+: /, '');
  process.stderr.write(`parley-archives: ${sentence}\n`);
  return code;
}

process.exitCode = await run(process.argv.slice(2));
