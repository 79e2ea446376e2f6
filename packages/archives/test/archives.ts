/** Archives of tests: written from what they contain, read as an import reads them. */

import { createHash } from 'node:crypto';
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import { ZipFile } from 'yazl';
import { writeConverted } from '../convert/converted-writer.ts';
import { openArchive } from '../open-archive.ts';
import type { ArchiveReader, OpenOptions } from '../reader.ts';
import {
  type ArchiveRecord,
  type ArchiveSource,
  COUNTED,
  type ConversationRecord,
  type Counts,
  type MessageRecord,
  type NoteRecord,
  type PersonRecord,
  type ReadPositionRecord,
  type SkippedRecord,
} from '../record.ts';

/** Content by path; what is neither text nor bytes is written as JSON. */
export type Contents = Readonly<Record<string, unknown>>;

function bytesOf(content: unknown): Buffer {
  if (Buffer.isBuffer(content)) return content;
  return Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
}

let written = 0;

/** Writes a zip and returns its path. */
export async function zipOf(directory: string, contents: Contents): Promise<string> {
  written += 1;
  const path = join(directory, `archive-${written}.zip`);
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(contents)) zip.addBuffer(bytesOf(content), name);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return path;
}

/** Writes a tar, packed with gzip unless `plain`, and returns its path. */
export async function tarOf(directory: string, contents: Contents, { plain = false } = {}): Promise<string> {
  written += 1;
  const path = join(directory, `archive-${written}.tar${plain ? '' : '.gz'}`);
  const entries = Object.entries(contents).map(([name, content]) => {
    const body = new Uint8Array(bytesOf(content));
    return { header: { name, size: body.length, mtime: new Date(0) }, body };
  });
  const bytes = await packTar(entries);
  writeFileSync(path, plain ? bytes : gzipSync(bytes));
  return path;
}

/** What an archive gives, by kind. */
export interface Given {
  readonly records: readonly ArchiveRecord[];
  readonly people: ReadonlyMap<string, PersonRecord>;
  readonly conversations: ReadonlyMap<string, ConversationRecord>;
  readonly messages: readonly MessageRecord[];
  readonly positions: readonly ReadPositionRecord[];
  readonly skipped: readonly SkippedRecord[];
  readonly notes: readonly NoteRecord[];
  readonly found: Counts;
}

/**
 * Reads a whole archive, checks what `record.ts` promises of every archive, and that it is the same
 * after a conversion, and returns it.
 */
export async function given(source: ArchiveSource, path: string, options: OpenOptions): Promise<Given> {
  const reader = await openArchive(source, path, options);
  try {
    const records: ArchiveRecord[] = [];
    for await (const record of reader.records()) records.push(record);
    const all = sorted(records, reader.found());
    requireSums(all);
    requireOrder(all);
    const { done, total } = reader.progress();
    if (done !== total) throw new Error(`the progress ended at ${done} of ${total}`);
    for (const { files } of all.messages) {
      for (const { source } of files) {
        if ('url' in source) continue;
        const content = await reader.openFile(source.entry);
        if (content === undefined) throw new Error(`${source.entry} is in no archive`);
        let size = 0;
        for await (const piece of content.read()) size += piece.length;
        if (size !== content.size) throw new Error(`${source.entry} has ${size} bytes`);
      }
    }
    await requireSameConverted(reader, records, options.scratch);
    return all;
  } finally {
    await reader.close();
  }
}

/** A conversion changes nothing but the names of files. */
async function requireSameConverted(
  reader: ArchiveReader,
  records: readonly ArchiveRecord[],
  scratch: string,
): Promise<void> {
  written += 1;
  const path = join(scratch, `converted-${written}.zip`);
  await writeConverted(reader, path);
  const converted = await openArchive('parley', path, { scratch });
  try {
    if (converted.source !== reader.source) throw new Error(`it is of ${converted.source}`);
    let index = 0;
    for await (const record of converted.records()) {
      const [was, is] = [records[index], record].map((it) => JSON.stringify(it, renamed));
      if (was !== is) throw new Error(`${was} was converted to ${is}`);
      index += 1;
    }
    if (index !== records.length) throw new Error(`${records.length} records were converted to ${index}`);
    for (const of of COUNTED) {
      const [was, is] = [reader.found()[of], converted.found()[of]];
      if (of !== 'documents' && is !== was) throw new Error(`of ${was} ${of} ${is} were converted`);
    }
  } finally {
    await converted.close();
  }
}

/** For JSON: without what a conversion changes. */
function renamed(key: string, value: unknown): unknown {
  return key === 'entry' ? 'an entry' : value;
}

function sorted(records: readonly ArchiveRecord[], found: Counts): Given {
  const of = <Type extends ArchiveRecord['type']>(type: Type) =>
    records.filter((record): record is Extract<ArchiveRecord, { type: Type }> => record.type === type);
  return {
    records,
    people: new Map(of('person').map((it) => [it.ref, it])),
    conversations: new Map(of('conversation').map((it) => [it.ref, it])),
    messages: of('message'),
    positions: of('read_position'),
    skipped: of('skipped'),
    notes: of('note'),
    found,
  };
}

/** What was found is what was given and what was skipped. */
function requireSums({ people, conversations, messages, positions, skipped, found }: Given): void {
  const sum = <Item>(items: Iterable<Item>, of: (item: Item) => number) =>
    [...items].reduce((all, item) => all + of(item), 0);
  const imported: Omit<Record<keyof Counts, number>, 'documents'> = {
    people: sum(people.values(), ({ kind }) => (kind === 'placeholder' ? 0 : 1)),
    conversations: sum(conversations.values(), ({ merged }) => 1 + merged.length),
    messages: sum(messages, ({ counted }) => (counted ? 1 : 0)),
    reactions: sum(messages, ({ reactions }) => reactions.length),
    files: sum(messages, ({ files }) => files.length),
    pins: sum(messages, ({ pin }) => (pin === null ? 0 : 1)),
    read_positions: positions.length,
  };
  for (const of of COUNTED) {
    if (of === 'documents') continue;
    const lost = sum(skipped, (it) => (it.of === of ? it.count : 0));
    if (found[of] !== imported[of] + lost) {
      throw new Error(`${found[of]} ${of} were found: ${imported[of]} given, ${lost} skipped`);
    }
  }
}

/** Nothing refers to what has not come; messages of a conversation come in the order of time. */
function requireOrder({ records }: Given): void {
  const [people, conversations, messages] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const last = new Map<string, string>();
  const know = (known: ReadonlySet<string>, ref: string | null | undefined, what: string) => {
    if (ref != null && !known.has(ref)) throw new Error(`${what} ${ref} has not come`);
  };
  const once = (known: Set<string>, ref: string, what: string) => {
    if (known.has(ref)) throw new Error(`${what} ${ref} came twice`);
    known.add(ref);
  };
  for (const record of records) {
    if (record.type === 'person') once(people, record.ref, 'person');
    if (record.type === 'conversation') {
      once(conversations, record.ref, 'conversation');
      for (const { person } of record.members) know(people, person, 'member');
      know(people, record.creator, 'creator');
    }
    if (record.type === 'read_position') {
      know(people, record.person, 'reader');
      know(conversations, record.conversation, 'conversation');
    }
    if (record.type !== 'message') continue;
    once(messages, record.client_message_id, 'message');
    know(conversations, record.conversation, 'conversation');
    know(messages, record.reply_to, 'root');
    const refs = [
      record.author,
      record.pin?.by,
      ...record.mentions,
      ...record.reactions.map((it) => it.person),
    ];
    for (const ref of refs) know(people, ref, 'person');
    const { conversation, created_at } = record;
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(created_at))
      throw new Error(`no time: ${created_at}`);
    const before = last.get(conversation);
    // A tombstone has the time of the root for which it stands.
    if (record.counted || record.deleted_at === null) {
      if (before !== undefined && before > created_at) throw new Error(`${created_at} came after ${before}`);
      last.set(conversation, created_at);
    }
  }
}

export function hashOf(records: readonly ArchiveRecord[]): string {
  return createHash('sha256').update(JSON.stringify(records)).digest('hex');
}
