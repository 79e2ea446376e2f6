/** A process that reads one archive for a node (reader-process.ts). */

import { openArchive } from '../open-archive.ts';
import { type ArchiveReader, UnreadableArchive } from '../reader.ts';
import type { ArchiveRecord } from '../record.ts';
import type { Batch, FromReader, Question, Reply, ReplyError, ToReader } from './reader-process.ts';

const MOST_RECORDS = 500;
/** Text of messages in a batch; a batch has one record at least. */
const MOST_CHARACTERS = 2 ** 20;
const ALIVE_EVERY_MS = 1_000;

let reader: ArchiveReader | undefined;
let records: AsyncIterator<ArchiveRecord> | undefined;
const files = new Map<number, AsyncIterator<Buffer>>();
let opened = 0;

type Answers = {
  readonly [Kind in ToReader['kind']]: (
    asked: Extract<ToReader, { readonly kind: Kind }>,
  ) => Promise<FromReader[Kind]>;
};

const ANSWERS: Answers = {
  async open({ source, path, scratch, limits }) {
    reader = await openArchive(source, path, { scratch, ...(limits && { limits }) });
    return reader.source;
  },
  async walk() {
    await records?.return?.();
    records = reader!.records()[Symbol.asyncIterator]();
    return null;
  },
  next,
  async size({ entry }) {
    return (await reader!.openFile(entry))?.size ?? null;
  },
  async begin({ entry }) {
    const content = await reader!.openFile(entry);
    opened += 1;
    files.set(opened, content!.read()[Symbol.asyncIterator]());
    return opened;
  },
  async piece({ file }) {
    const { value, done } = await files.get(file)!.next();
    return done === true ? null : value;
  },
  async leave({ file }) {
    await files.get(file)?.return?.();
    files.delete(file);
    return null;
  },
};

async function next(): Promise<Batch> {
  const some: ArchiveRecord[] = [];
  let characters = 0;
  let isLast = false;
  while (some.length < MOST_RECORDS && characters < MOST_CHARACTERS) {
    const { value, done } = await records!.next();
    if (done === true) {
      isLast = true;
      break;
    }
    some.push(value);
    if (value.type === 'message') characters += value.body?.length ?? 0;
  }
  return { records: some, found: reader!.found(), progress: reader!.progress(), isLast };
}

function reply(message: Reply): void {
  process.send!(message);
}

function replyError(error: unknown): ReplyError {
  if (error instanceof UnreadableArchive) return { message: error.message, reason: error.reason };
  const { message, code } = error as NodeJS.ErrnoException;
  return { message, ...(code !== undefined && { code }) };
}

process.on('message', ({ id, asked }: Question) => {
  const answer = ANSWERS[asked.kind] as (asked: ToReader) => Promise<FromReader[ToReader['kind']]>;
  answer(asked).then(
    (answered) => reply({ id, answer: answered }),
    (error: unknown) => reply({ id, error: replyError(error) }),
  );
});
// The node is gone.
process.on('disconnect', () => process.exit());
setInterval(() => reply({ id: null }), ALIVE_EVERY_MS);
