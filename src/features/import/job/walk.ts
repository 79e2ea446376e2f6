import type { ArchiveReader } from '@parley/archives/reader.ts';
import type {
  ArchiveRecord,
  MessageRecord,
  PersonRecord,
  ReadPositionRecord,
} from '@parley/archives/record.ts';
import type { ImportCounts } from '@parley/protocol/resources/import.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { ImportedWrites } from '../../../core/messages/timeline/imported-write.ts';
import { BackgroundWork } from '../../../platform/background.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { JobContext } from '../../../platform/db/queue/leased-jobs.ts';
import type { GuardedFetch } from '../../../platform/outbound/guarded-fetch.ts';
import { type ImportRow, saveState } from '../imports/import-store.ts';
import { addToRemarks, insertRemarks, readLastRemarks } from '../imports/remarks.ts';
import { importConversation } from './conversations.ts';
import { ImportedFiles } from './files.ts';
import { ArchivedMessages } from './messages.ts';
import { importPeople, type Numbered } from './people.ts';
import { importReadPositions } from './read-positions.ts';
import { Refs } from './refs.ts';
import { Tally } from './tally.ts';

export interface WalkOptions extends Pick<NodeParts, 'database' | 'store'> {
  readonly row: ImportRow;
  readonly reader: ArchiveReader;
  readonly writes: ImportedWrites;
  readonly web: Pick<GuardedFetch, 'fetch'>;
  readonly context: JobContext;
}

/**
 * Imports the records of an archive from a position on, in order, read positions last. Records of
 * one type are gathered and written together; their outcomes are stored with the next position, so
 * that an interrupted import continues there. Messages commit before it: messages of the last round
 * may be written again, and are found.
 */
export class ArchiveWalk {
  readonly #options: WalkOptions;
  readonly #refs: Refs;
  readonly #tally: Tally;
  readonly #messages: ArchivedMessages;
  readonly #work: BackgroundWork;
  readonly #gathered = new Gathered();
  #stored: number;

  constructor(options: WalkOptions) {
    const { row, database, context, writes } = options;
    this.#options = options;
    this.#refs = new Refs(row);
    this.#tally = new Tally(row.id, row.counts);
    this.#work = new BackgroundWork(database.load);
    this.#stored = row.position;
    const { signal } = context;
    const files = new ImportedFiles({ ...options, refs: this.#refs, signal });
    const between = async () => {
      await this.#work.rest(signal);
      signal.throwIfAborted();
    };
    this.#messages = new ArchivedMessages({
      db: database,
      row,
      refs: this.#refs,
      tally: this.#tally,
      files,
      writes,
      between,
    });
  }

  /** Returns the outcomes of everything in the archive. Rejects with its error. */
  async run(): Promise<ImportCounts> {
    const { reader, context, database, row } = this.#options;
    this.#tally.goOn(await readLastRemarks(database, row.id));
    let hasPositions = false;
    let number = 0;
    for await (const record of reader.records()) {
      if (record.type === 'read_position') hasPositions = true;
      else if (number >= row.position) await this.#take(record, number);
      number += 1;
      const { done, total } = reader.progress();
      context.progress(done, total);
      if (this.#isFull || number - this.#stored >= MOST_UNSTORED) await this.#store(number);
    }
    await this.#store(number);
    const found = reader.found();
    if (hasPositions) await this.#takePositions(number);
    return this.#tally.counts(found);
  }

  /**
   * Walks again for read positions, because messages imported after them move readers who are at
   * the head. `after`: the number of records of the first walk.
   */
  async #takePositions(after: number): Promise<void> {
    let number = after;
    for await (const record of this.#options.reader.records()) {
      const isLeft = number >= this.#options.row.position;
      if (record.type === 'read_position' && isLeft) await this.#take(record, number);
      number += 1;
      if (this.#isFull) await this.#store(number);
    }
    await this.#store(number);
  }

  get #isFull(): boolean {
    return this.#gathered.isFull || this.#tally.pending >= MOST_RECORDS;
  }

  async #take(record: ArchiveRecord, number: number): Promise<void> {
    const tally = this.#tally;
    if (record.type === 'skipped') {
      const { of, count, reason, detail, where: place } = record;
      tally.skip(of, number, { reason, detail, place }, count);
    } else if (record.type === 'note') {
      const { reason, detail, where: place } = record;
      tally.note(number, { reason, detail, place });
    } else {
      if (!this.#gathered.takes(record)) await this.#store(number);
      this.#gathered.add(record, number);
    }
  }

  /** Writes the gathered records, and that all records before `position` are done. */
  async #store(position: number): Promise<void> {
    if (position <= this.#stored) return;
    const { database, context } = this.#options;
    context.signal.throwIfAborted();
    const { people, messages, readPositions, conversations } = this.#gathered.take();
    await this.#messages.write(messages);
    const parts = { row: this.#options.row, refs: this.#refs, tally: this.#tally };
    await database.transaction(async (tx) => {
      await importPeople(tx, parts, people);
      for (const one of conversations) await importConversation(tx, parts, one);
      await importReadPositions(tx, parts, readPositions);
      await this.#save(tx, position);
    });
    this.#stored = position;
    await this.#work.rest(context.signal);
  }

  async #save(tx: Tx, position: number): Promise<void> {
    const { row, reader } = this.#options;
    await insertRemarks(tx, this.#tally.takeRemarks());
    await addToRemarks(tx, row.id, this.#tally.takeAdditions());
    await saveState(tx, row, { position, counts: this.#tally.counts(), ...reader.progress() });
  }
}

/** Records of one type that wait to be written together. */
class Gathered {
  #records: Numbered<Exclude<ArchiveRecord, { type: 'skipped' | 'note' }>>[] = [];
  #bytes = 0;

  get isFull(): boolean {
    return this.#records.length >= MOST_RECORDS || this.#bytes >= MOST_BYTES;
  }

  takes({ type }: ArchiveRecord): boolean {
    const [first] = this.#records;
    return first === undefined || first.record.type === type;
  }

  add(record: Exclude<ArchiveRecord, { type: 'skipped' | 'note' }>, number: number): void {
    this.#records.push({ record, number });
    if (record.type === 'message') this.#bytes += record.body?.length ?? 0;
    // One conversation may have very many members.
    if (record.type === 'conversation') this.#bytes += record.members.length * BYTES_OF_MEMBER;
  }

  take() {
    const records = this.#records;
    this.#records = [];
    this.#bytes = 0;
    const of = <Record>(type: ArchiveRecord['type']) =>
      records.filter(({ record }) => record.type === type) as unknown as Numbered<Record>[];
    return {
      people: of<PersonRecord>('person'),
      conversations: of<Extract<ArchiveRecord, { type: 'conversation' }>>('conversation'),
      messages: of<MessageRecord>('message'),
      readPositions: of<ReadPositionRecord>('read_position'),
    };
  }
}

const MOST_RECORDS = 500;
/** Most records with nothing to write, such as counted ones, before the position is stored. */
const MOST_UNSTORED = 20_000;
const MOST_BYTES = 4 * 2 ** 20;
const BYTES_OF_MEMBER = 4_096;
