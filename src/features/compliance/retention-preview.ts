import {
  type Due,
  MOST_PREVIEWED,
  type RetentionPreview,
  type RetentionPreviewQuery,
} from '@parley/protocol/resources/retention-preview.ts';
import { countOldEvents } from '../../core/audit/retention.ts';
import { allHoldings } from '../../core/features/all-holdings.ts';
import { countDue, countDueFiles, readEndedIds } from '../../core/messages/removal/purge-store.ts';
import type { Expiring } from '../../core/resources/holdings.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { conversationsUnder, isPast } from './sweep.ts';

/** Most conversations that a preview looks at; it then says that there may be more. */
const MOST_CONVERSATIONS = 5_000;
const MOST_MESSAGES = 20_000;

/** Counts the rows that the sweep would purge under a policy now, within a limit. */
export async function previewPolicy(
  database: Database,
  accountId: string,
  policy: RetentionPreviewQuery,
): Promise<RetentionPreview> {
  const { messages, files } = await ofConversations(database, accountId, policy);
  const expired = async (kind: Expiring): Promise<Due> => {
    const days = policy[`${kind}_days`];
    let count = 0;
    for (const holdings of days === undefined ? [] : allHoldings(database)) {
      count += (await holdings.count?.[kind]?.(database, accountId, days!, ONE_MORE)) ?? 0;
    }
    return due(count);
  };
  const ofOthers = await expired('files');
  const { audit_days: auditDays } = policy;
  return {
    object: 'retention_preview',
    messages,
    files: due(files.count + ofOthers.count, files.more || ofOthers.more),
    notifications: await expired('notifications'),
    runs: await expired('runs'),
    audit: due(auditDays === undefined ? 0 : await countOldEvents(database, accountId, auditDays, ONE_MORE)),
  };
}

/** One more than is counted shows that there are more. */
const ONE_MORE = MOST_PREVIEWED + 1;

function due(count: number, more = false): Due {
  return { count: Math.min(count, MOST_PREVIEWED), more: more || count > MOST_PREVIEWED };
}

/** Counts messages and their files, which are purged with their messages or before. */
async function ofConversations(
  database: Database,
  accountId: string,
  { messages_days: days, files_days }: RetentionPreviewQuery,
): Promise<{ readonly messages: Due; readonly files: Due }> {
  const filesDays = Math.min(days ?? Number.POSITIVE_INFINITY, files_days ?? Number.POSITIVE_INFINITY);
  const periods = { account_id: accountId, messages_days: days ?? null, files_days: files_days ?? null };
  let [conversations, messages, files, looked] = [0, 0, 0, 0];
  for await (const page of conversationsUnder(database, periods)) {
    if (days !== undefined && messages < ONE_MORE) {
      const old = page.filter(({ message_age }) => isPast(message_age, days)).map(({ id }) => id);
      if (old.length > 0) messages += await countDue(database, old, days, ONE_MORE - messages);
      for (const { id, ended_age } of page) {
        if (messages < ONE_MORE && isPast(ended_age, days))
          messages += (await readEndedIds(database, id, days, ONE_MORE - messages)).length;
      }
    }
    const old = page.filter(({ file_age }) => isPast(file_age, filesDays)).map(({ id }) => id);
    if (old.length > 0 && files < ONE_MORE && looked < MOST_MESSAGES) {
      const counted = await countDueFiles(database, old, filesDays, MOST_MESSAGES - looked);
      files += counted.files;
      looked += counted.looked;
    }
    conversations += page.length;
    const isCounted =
      (days === undefined || messages >= ONE_MORE) && (files >= ONE_MORE || looked >= MOST_MESSAGES);
    if (isCounted || conversations >= MOST_CONVERSATIONS) break;
  }
  const isCut = conversations >= MOST_CONVERSATIONS;
  return {
    messages: due(messages, isCut && days !== undefined),
    files: due(files, isCut || looked >= MOST_MESSAGES),
  };
}
