import { presentRevision } from '../../../core/messages/editing/revision-store.ts';
import { reactionsByMessage, revisionsByMessage } from '../../../core/messages/whole-store.ts';
import { readActors } from '../../../core/resources/actor.ts';
import { type Downloads, readAttachments, type StoredFile } from '../../../core/resources/attachment.ts';
import { type MessageRow, presentForTeam } from '../../../core/resources/message.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { type ArchivedFile, type ArchiveWriter, jsonLines } from './archive.ts';

/** A file that the manifest lists; `lines` is set only for JSON Lines. */
export type ListedFile = ArchivedFile & { readonly lines?: number };

/** The archive's directory for files of messages and runs, each under its key. */
const FILES = 'files/';

/** Collects an archive's files for the manifest, and the stored files that it must contain. */
export class Contents {
  readonly files: ListedFile[] = [];
  /** By noun, in the plural. */
  readonly counts: Record<string, number> = {};
  /** The keys of the stored files that the rows written so far refer to; 28 bytes each. */
  readonly keys = new Set<string>();
  readonly #archive: ArchiveWriter;
  readonly #report: (done: number, total: number) => void;
  #done = 0;
  #expected = 0;

  constructor(archive: ArchiveWriter, report: (done: number, total: number) => void) {
    this.#archive = archive;
    this.#report = report;
  }

  /** Announces `more` messages. */
  expect(more: number): void {
    this.#expected += more;
    this.#step(0);
  }

  async addDocument(path: string, document: object): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(document, null, 2)}\n`);
    this.files.push(await this.#archive.add(path, once(bytes), { compress: true }));
  }

  /** Adds `<noun>.jsonl` and counts its lines under the noun. */
  async addLines(noun: string, pages: AsyncIterable<readonly object[]>): Promise<void> {
    let lines = 0;
    const bytes = jsonLines(pages, (items) => {
      lines += items.length;
    });
    const file = await this.#archive.add(`${noun}.jsonl`, bytes, { compress: true });
    this.files.push({ ...file, lines });
    this.counts[noun] = lines;
  }

  /** Adds messages with revisions, reactions and attachments, whose `url` is the archive path. */
  async addMessages(db: Db, pages: AsyncIterable<readonly MessageRow[]>): Promise<void> {
    let revisions = 0;
    const shown = async function* (this: Contents) {
      for await (const rows of pages) {
        const messages = await withEverything(db, this.downloads, rows);
        for (const message of messages) revisions += message.revisions.length;
        yield messages;
        this.#step(rows.length);
      }
    };
    await this.addLines('messages', shown.call(this));
    this.counts.revisions = revisions;
  }

  /** Adds the referenced files, and `files.jsonl` with hashes; lost files are listed as missing. */
  async addFiles(
    open: (key: string) => Promise<{ read(): AsyncIterable<Buffer> } | undefined>,
  ): Promise<void> {
    const listed: object[] = [];
    let missing = 0;
    for (const key of this.keys) {
      const file = await open(key);
      if (file === undefined) missing += 1;
      listed.push(
        file === undefined
          ? { key, missing: true }
          : { key, ...(await this.#archive.add(`${FILES}${key}`, file.read(), { compress: false })) },
      );
      this.#step(1);
    }
    await this.addLines('files', once(listed));
    this.counts.missing_files = missing;
  }

  /** The number of added messages and files. */
  get done(): number {
    return this.#done;
  }

  /** Acts as the file store when messages are presented. */
  get downloads(): Downloads {
    return { presignDownload: async (file) => this.refer(file) };
  }

  /** Adds the file to the archive. Returns its path there. */
  refer({ key }: Pick<StoredFile, 'key'>): string {
    this.keys.add(key);
    return `${FILES}${key}`;
  }

  #step(done: number): void {
    this.#done += done;
    this.#report(this.#done, Math.max(this.#expected + this.keys.size, this.#done));
  }
}

/** Returns resources of the newest version as the team sees them, with all optional fields. */
async function withEverything(db: Db, downloads: Downloads, rows: readonly MessageRow[]) {
  const ids = rows.map(({ id }) => id);
  const [actors, attachments, revisions, reactions] = [
    await readActors(db, [
      ...new Set(rows.flatMap((row) => [row.sender_id ?? [], row.author_id ?? []].flat())),
    ]),
    await readAttachments(
      db,
      downloads,
      rows.flatMap((row) => (row.has_attachments ? row.id : [])),
    ),
    await revisionsByMessage(db, ids),
    await reactionsByMessage(db, ids),
  ];
  return rows.map((row) => ({
    ...presentForTeam(row, {
      sender: actors.get(row.sender_id ?? '') ?? null,
      author: actors.get(row.author_id ?? '') ?? null,
      attachments: attachments.get(row.id) ?? [],
    }),
    conversation_id: row.conversation_id,
    client_message_id: row.client_message_id,
    reply_to_id: row.reply_to_id,
    agent_run_id: row.agent_run_id,
    mentions: row.mentions,
    outcome: row.outcome,
    revisions: (revisions.get(row.id) ?? []).map(presentRevision),
    reactions: (reactions.get(row.id) ?? []).map(({ message_id: _, ...reaction }) => reaction),
  }));
}

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}
