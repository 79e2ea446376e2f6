import { toEmoji } from '@parley/protocol/emoji.ts';
import { Compile } from 'typebox/compile';
import type { Container } from '../container/container.ts';
import { readDocument } from '../content/documents.ts';
import { fields } from '../content/values.ts';
import type { Walk } from '../content/walk.ts';
import { type ArchiveLimits, UnreadableArchive } from '../reader.ts';
import {
  ARCHIVE_SOURCES,
  type ArchiveRecord,
  type ArchiveSource,
  ConversationRecord,
  type Counted,
  countsOf,
  MessageRecord,
  NoteRecord,
  PersonRecord,
  ReadPositionRecord,
  SkippedRecord,
} from '../record.ts';
import { jsonLines } from './parley-reader.ts';

/** The names of a converted archive and its files; files of messages have numbers. */
export const CONVERTED = {
  object: 'converted_archive',
  format: 1,
  manifest: 'manifest.json',
  records: 'records.jsonl',
} as const;

interface ConvertedOptions {
  readonly container: Container;
  readonly limits: ArchiveLimits;
}

/**
 * Returns the source of a converted archive; undefined for any other. Rejects with
 * `UnreadableArchive` if it cannot be read.
 */
export async function convertedFrom({
  container,
  limits,
}: ConvertedOptions): Promise<ArchiveSource | undefined> {
  const manifest = await readDocument(container, CONVERTED.manifest, limits);
  const { object, format, source } = 'value' in manifest ? fields(manifest.value) : {};
  if (object !== CONVERTED.object) return undefined;
  const known = ARCHIVE_SOURCES.find((it) => it === source);
  if (format === CONVERTED.format && known !== undefined && container.entries.has(CONVERTED.records)) {
    return known;
  }
  throw new UnreadableArchive('unsupported', 'A later version has converted this archive, or it is damaged.');
}

/**
 * Walks through the records of a converted archive (`convert/`). They are given again, so that the
 * people and counts of a forged file are as reliable as those of any other archive.
 */
export function convertedWalk({
  container,
  limits,
}: ConvertedOptions): (walk: Walk) => AsyncGenerator<ArchiveRecord[]> {
  return async function* (walk) {
    walk.progress.total = container.entries.get(CONVERTED.records)!.size;
    const conversations = new Set<string>();
    for await (const lines of jsonLines(CONVERTED.records, { container, limits, walk, read: asRecord })) {
      for (const { value } of lines) give(value, { container, conversations, walk });
      yield walk.take();
    }
  };
}

const FORMS = [
  MessageRecord,
  PersonRecord,
  ConversationRecord,
  ReadPositionRecord,
  SkippedRecord,
  NoteRecord,
];
const RECORDS = new Map(FORMS.map((form) => [form.properties.type.const as string, Compile(form)]));

/** Returns the value as the record that it is, or undefined: anyone may have written it. */
function asRecord(value: unknown): ArchiveRecord | undefined {
  const { type } = fields(value);
  if (typeof type !== 'string' || RECORDS.get(type)?.Check(value) !== true) return undefined;
  const record = value as ArchiveRecord;
  const isSound =
    record.type !== 'message' || record.reactions.every(({ emoji }) => toEmoji(emoji) === emoji);
  return isSound ? record : undefined;
}

interface Giving {
  readonly container: Container;
  /** The refs of conversations that came. */
  readonly conversations: Set<string>;
  readonly walk: Walk;
}

function give(record: ArchiveRecord, giving: Giving): void {
  const { container, walk } = giving;
  const where = 'where' in record ? record.where : 'ref' in record ? record.ref : record.conversation;
  const counts = record.type === 'skipped' ? { [record.of]: record.count } : countsOf(record);
  const skip = ({ reason, detail }: Pick<SkippedRecord, 'reason' | 'detail'>) => {
    for (const [of, count] of Object.entries(counts)) walk.skip(of as Counted, reason, detail, where, count);
  };
  for (const [of, count] of Object.entries(counts)) walk.meet(of as Counted, count);
  if (record.type === 'note') walk.note(record.reason, record.detail, where);
  else if (record.type === 'skipped') skip(record);
  else if (!isExpected(record, giving)) skip(UNEXPECTED);
  else if (record.type === 'person' && record.kind === 'placeholder') {
    walk.hint(record.ref, record.name);
    walk.refer(record.ref);
  } else if (record.type === 'person') walk.person(record);
  else if (record.type === 'conversation') walk.conversation(record);
  else if (record.type === 'read_position') walk.readPosition(record);
  else {
    const { client_message_id: id, type: _, counted, ...same } = record;
    const files = record.files.filter(({ name, source }) => {
      if ('url' in source || container.entries.has(source.entry)) return true;
      walk.skip('files', 'missing_file', `${name} is not in the archive.`, where);
      return false;
    });
    walk.message({ ...same, ...(!counted && { counted }), id, files });
  }
}

const UNEXPECTED = {
  reason: 'unexpected',
  detail: 'It has the id of another one, or its conversation is missing.',
};

/** Returns whether the record is the first of its refs, or its conversation has come. */
function isExpected(
  record: Exclude<ArchiveRecord, SkippedRecord | NoteRecord>,
  { conversations, walk }: Giving,
): boolean {
  if (record.type === 'person') return !walk.knows(record.ref);
  if (record.type !== 'conversation') return conversations.has(record.conversation);
  const refs = [record.ref, ...record.merged];
  if (new Set(refs).size < refs.length || refs.some((ref) => conversations.has(ref))) return false;
  for (const ref of refs) conversations.add(ref);
  return true;
}
