import { enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import type { ErasedPerson, Holdings } from '../../core/resources/holdings.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import {
  clearInputs,
  moveStarter,
  readArtifactsOf,
  readRunsAbout,
  readRunsStartedBy,
} from './runs/removal/person-store.ts';
import {
  clearRunsOf,
  countEndedRuns,
  countOldArtifacts,
  deleteArtifactsByKey,
  deleteEndedRuns,
  deleteOldArtifacts,
  deleteRunsOf,
  type RunEnding,
  readRunAges,
} from './runs/removal/purge-store.ts';
import { clearEndings, readReadingRuns, withdrawRunTexts } from './runs/removal/withdraw-texts.ts';
import { cancelAllOf, cancelRunsById } from './runs/state/end-run.ts';
import { readOpenRunsOf } from './runs/state/store.ts';

const OF_AGENT = "JOIN actors a ON a.id = t.actor_id WHERE a.account_id = $1 AND a.type = 'agent'";

/** The holdings of runs: their quotations of messages, and their files. */
export const holdings: Holdings = {
  tables: {
    agent_definitions: { account: 'first', moved: { last: 'true' } },
    agent_runs: {
      account: ['content', OF_AGENT],
      triggered_by: 'erased',
      conversation_id: 'purged',
      trigger_message_id: 'purged',
      reply_message_id: 'purged',
      exported: 'agent_runs',
      moved: { last: 't.completed_at IS NULL' },
    },
    agent_run_steps: { moved: { by: 'run_id', of: 'agent_runs' } },
    agent_run_actions: { moved: { by: 'run_id', of: 'agent_runs', last: "t.status = 'pending_review'" } },
    artifacts: { exported: 'artifacts', moved: { file: ['s3_key', 't.content_type'] } },
    agent_occurrences: {
      account: 'first',
      moved: { by: 'agent_id', of: 'agent_definitions' },
    },
  },
  async purgeMessages(tx, conversationId, messages) {
    const ids = messages.map(({ id }) => id);
    const { runs, keys } = await clearRunsOf(tx, conversationId, ids);
    await withdrawEndings(tx, runs);
    return { rows: 0, keys };
  },
  purgeConversation: deleteRunsOf,
  expire: {
    files: deleteOldArtifacts,
    async runs(tx, accountId, days, limit) {
      const { deleted, keys } = await deleteEndedRuns(tx, accountId, days, limit);
      await withdrawEndings(tx, deleted);
      return { rows: deleted.length, runs: deleted.length, keys };
    },
  },
  count: { files: countOldArtifacts, runs: countEndedRuns },
  readAges: readRunAges,
  movePerson: async (tx, { from, to, conversationIds }) => moveStarter(tx, from, to, conversationIds),
  forgetFiles: deleteArtifactsByKey,
  endWorkOf: async (tx, accountId) => (await cancelAllOf(tx, accountId)).length > 0,
  async endWorkIn(database, { id, account_id, by }) {
    // Runs after the deletion, because a run that ends locks its own row before the conversation.
    const open = await readOpenRunsOf(database, { id, account_id });
    await database.transaction((tx) => cancelRunsById(tx, by, open));
  },
  async withdrawTexts(tx, content, texts) {
    const runs = await readReadingRuns(tx, content);
    const { runIds, notificationIds } = await withdrawRunTexts(tx, runs, texts);
    return { ids: runIds, notificationIds, openIds: runs.flatMap((run) => (run.is_open ? run.id : [])) };
  },
  endReaders: async (tx, by, ids) => (await cancelRunsById(tx, by, ids)).length > 0,
  async withdrawReaders(tx, ids) {
    const runs = ids.map((id) => ({ id, whole: true }));
    return (await withdrawRunTexts(tx, runs, [])).notificationIds;
  },
  erasePerson: eraseFromRuns,
  exportsOfPerson: {
    agent_runs: (db, _files, { id }) => readRunsStartedBy(db, id),
    async *artifacts(db, files, { id }) {
      for await (const rows of readArtifactsOf(db, id)) {
        yield rows.map(({ s3_key: key, ...row }) => ({ ...row, url: files.refer({ key }) }));
      }
    },
  },
};

/** Clears the previews in the notifications of these runs' ends, also in every node's memory. */
async function withdrawEndings(tx: Tx, runs: readonly RunEnding[]): Promise<void> {
  await enqueueRightsChanged(tx, await clearEndings(tx, runs));
}

async function eraseFromRuns(
  database: Database,
  { accountId, id, texts, signal }: ErasedPerson,
): Promise<void> {
  for await (const runs of readRunsAbout(database, accountId, id, texts)) {
    signal.throwIfAborted();
    await database.transaction(async (tx) => {
      await clearInputs(
        tx,
        runs.flatMap(({ id, whole }) => (whole ? id : [])),
      );
      const { notificationIds } = await withdrawRunTexts(tx, runs, texts);
      if (notificationIds.length > 0) await enqueueRightsChanged(tx, notificationIds);
    });
  }
}
