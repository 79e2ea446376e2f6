import { newId } from '@parley/protocol/ids.ts';
import { EXPORT_DAYS } from '@parley/protocol/resources/export.ts';
import { findPerson } from '../../../core/accounts/actors/persons.ts';
import { addRemoval, insertOwnFile } from '../../../core/attachments/uploads.ts';
import { audit } from '../../../core/audit/audit.ts';
import { findConversation } from '../../../core/conversations/rows/conversation-store.ts';
import { allHoldings } from '../../../core/features/all-holdings.ts';
import type { Core, NodeParts } from '../../../core/features/feature.ts';
import { readHead } from '../../../core/messages/timeline/timeline-store.ts';
import { BackgroundWork } from '../../../platform/background.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { JobContext } from '../../../platform/db/queue/leased-jobs.ts';
import { type ComplianceJobRow, endJob, setFile } from '../jobs/job-store.ts';
import type { JobWork } from '../jobs/runner.ts';
import { ArchiveWriter } from './archive.ts';
import { Contents } from './contents.ts';
import { EXPORT_TYPE, exportName, MANIFEST_PATH, type Manifest } from './manifest.ts';

type ExporterOptions = Pick<NodeParts, 'database' | 'store' | 'signingKey'> & Pick<Core, 'timeline'>;

/**
 * Writes exports (docs/contract.md#exports): rows in one snapshot of Postgres, then the files that
 * they refer to, then the signed manifest, as one archive streamed to the file store. Each attempt
 * writes its own file; the file of the attempt that ends the job stays.
 */
export class Exporter {
  readonly #options: ExporterOptions;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  readonly run: JobWork = async (job, context) => {
    const { database, store } = this.#options;
    const key = await this.#newFile(job);
    const archive = new ArchiveWriter();
    const abort = (reason: unknown) => archive.abort(reason as Error);
    context.signal.addEventListener('abort', () => abort(context.signal.reason), { once: true });
    if (context.signal.aborted) abort(context.signal.reason);
    const writing = store.putStream({ key, contentType: EXPORT_TYPE }, archive.bytes);
    const filling = this.#fill(job, archive, context);
    // If one fails, the other is aborted.
    writing.catch(abort);
    filling.catch(abort);
    const [size_bytes, { done, manifest }] = await settled(writing, filling);
    await database.transaction(async (tx) => {
      const ended = { status: 'complete', done, total: done, size_bytes, keptDays: EXPORT_DAYS } as const;
      if (!(await endJob(tx, job, ended))) return;
      await audit(tx, {
        accountId: job.account_id,
        conversationId: conversationOf(job),
        actorId: job.requested_by,
        action: 'export.completed',
        details: { export_id: job.id, subject_id: job.subject_id, size_bytes, counts: manifest.counts },
      });
    });
  };

  /** Registers the file of this attempt and removes the file of an earlier attempt. */
  async #newFile(job: ComplianceJobRow): Promise<string> {
    const key = newId('upload');
    await this.#options.database.transaction(async (tx) => {
      await insertOwnFile(tx, {
        s3_key: key,
        account_id: job.account_id,
        actor_id: job.requested_by,
        filename: exportName(job.id),
        content_type: EXPORT_TYPE,
      });
      if (!(await setFile(tx, job, key))) throw new Error('the job was taken over');
      if (job.s3_key !== null) await addRemoval(tx);
    });
    return key;
  }

  async #fill(
    job: ComplianceJobRow,
    archive: ArchiveWriter,
    { progress }: JobContext,
  ): Promise<{ readonly done: number; readonly manifest: Manifest }> {
    const { database, store, signingKey } = this.#options;
    const contents = new Contents(archive, new BackgroundWork(database.load, WITHIN_MS), progress);
    const through_sequence = await this.#settledHead(job);
    const snapshot = await database.transaction(async (tx) => {
      await tx.query(READ_AS_OF_NOW);
      const [clock] = await tx.query(READ_CLOCK);
      const legal_hold = await addSubject(tx, job, contents);
      return { at: clock!.at, consistent: true as const, through_sequence, legal_hold };
    });
    await contents.addFiles((key) => store.open(key));
    const manifest: Manifest = {
      object: 'export_manifest',
      format: 1,
      export_id: job.id,
      account_id: job.account_id,
      subject: { type: job.kind === 'user_export' ? 'user' : 'conversation', id: job.subject_id },
      requested_by: job.requested_by,
      requested_at: job.created_at,
      snapshot,
      counts: contents.counts,
      files: [...contents.files],
    };
    await contents.addDocument(MANIFEST_PATH, signingKey.sign(manifest));
    archive.end();
    return { done: contents.done, manifest };
  }

  /**
   * Returns the number up to which the timeline is settled, so that the later snapshot is complete
   * up to it; null for a person.
   */
  async #settledHead({ kind, subject_id: conversationId }: ComplianceJobRow): Promise<number | null> {
    if (kind !== 'conversation_export') return null;
    const { database, timeline } = this.#options;
    const { head: upTo, floor } = await readHead(database, conversationId);
    await timeline.settle({ conversationId, after: floor, upTo });
    return upTo;
  }
}

/** Limits the snapshot's life, because it keeps rows that VACUUM could remove. */
const WITHIN_MS = 10 * 60_000;

/** Returns the legal hold of the conversation, or null for a person. */
async function addSubject(
  tx: Tx,
  { kind, account_id: accountId, subject_id: id }: ComplianceJobRow,
  contents: Contents,
): Promise<'held' | 'released' | null> {
  if (kind === 'user_export') {
    const person = await findPerson(tx, accountId, id);
    if (person === undefined) throw new Error('the person is gone');
    const exported = allHoldings(tx).flatMap(({ exportsOfPerson = {} }) => Object.entries(exportsOfPerson));
    for (const [noun, read] of exported) await contents.add(noun, read(tx, contents, person));
    return null;
  }
  const conversation = await findConversation(tx, accountId, id);
  if (conversation === undefined) throw new Error('the conversation is gone');
  const exported = allHoldings(tx).flatMap((it) => Object.entries(it.exportsOfConversation ?? {}));
  for (const [noun, read] of exported) await contents.add(noun, read(tx, contents, conversation));
  return conversation.legal_hold;
}

/** Returns the conversation whose audit contains the export, or null for a person's export. */
export function conversationOf(job: Pick<ComplianceJobRow, 'kind' | 'subject_id'>): string | null {
  return job.kind === 'conversation_export' ? job.subject_id : null;
}

/** Returns both results like Promise.all, but waits for both: no write follows a rejection. */
async function settled<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

const READ_AS_OF_NOW = statement('export-as-of-now')`
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`;

const READ_CLOCK = statement<[], { readonly at: string }>('read-clock-of-export')`
    SELECT clock_timestamp() AS at`;
