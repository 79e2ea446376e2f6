import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { slackContents, zipped } from '../import/samples.ts';
import { freshDirectory } from '../start/parley.ts';
import { startAdmin } from '../support/admin-command.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface ImportKillsOptions extends Seeded {
  /** Number of kills of the process. */
  readonly kills: number;
  /** Messages in the largest conversation of the archive. */
  readonly messages: number;
}

interface ImportKillsFigures extends Found {
  readonly kills: number;
  /** Compared rows of messages with their parts. */
  readonly compared: number;
}

/**
 * The operator's command imports one archive into two accounts. For one it runs without a break;
 * for the other it is killed at random points and started again. Both end with the same rows.
 */
export const importKills = campaign({ whole: () => ({ kills: 20, messages: 60_000 }), run });

async function run(
  t: Teardown,
  { kills, messages }: ImportKillsOptions,
  random: Random,
): Promise<ImportKillsFigures> {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  const dataDir = freshDirectory(t);
  const archive = join(dataDir, 'slack.zip');
  writeFileSync(archive, await zipped(slackContents(messages)));
  const accountIds: string[] = [];
  for (const name of ['Whole', 'Killed']) {
    accountIds.push((await database.transaction((tx) => createAccount(tx, { name }))).account.id);
  }
  const [whole = '', killed = ''] = accountIds;
  const problems: string[] = [];
  const command = (accountId: string) => startImport({ url, dataDir, archive, accountId });
  const finish = async (accountId: string) => {
    const { ended, out, err } = command(accountId);
    const code = await ended;
    if (code !== 0) problems.push(`the command ended with ${code}: ${err()}`);
    else if (!/"adds_up": ?true/.test(out())) problems.push(`the report does not add up: ${out()}`);
  };

  await finish(whole);
  let [done, killedTimes] = [0, 0];
  for (; killedTimes < kills; killedTimes++) {
    const aim = done + random.below(Math.ceil(messages / kills));
    const { child, ended } = command(killed);
    const isThere = async () => (await positionOf(database, killed)) > aim || child.exitCode !== null;
    await until(isThere, { what: `progress before kill ${killedTimes}` });
    if (child.exitCode !== null) break;
    child.kill('SIGKILL');
    await ended;
    done = await positionOf(database, killed);
    // The next process would wait until the lease of the dead one has ended.
    await database.pool.query('UPDATE imports SET lease_until = NULL');
  }
  await finish(killed);

  const [wanted, found] = [await rowsOf(database, whole), await rowsOf(database, killed)];
  if (wanted.length < messages) problems.push(`only ${wanted.length} messages were imported`);
  if (wanted.length !== found.length) problems.push(`${found.length} rows, not ${wanted.length}`);
  for (const [index, row] of wanted.entries()) {
    if (row !== found[index]) problems.push(`${found[index]}, not ${row}`);
  }
  return { problems, kills: killedTimes, compared: wanted.length };
}

interface ImportCommand {
  readonly url: string;
  readonly dataDir: string;
  readonly archive: string;
  readonly accountId: string;
}

function startImport({ url, dataDir, archive, accountId }: ImportCommand) {
  const args = ['import', 'slack', archive, '--account', accountId];
  return startAdmin(args, { DATABASE_URL: url, PARLEY_DATA_DIR: dataDir });
}

async function positionOf(database: Database, accountId: string): Promise<number> {
  const { rows } = await database.pool.query('SELECT position FROM imports WHERE account_id = $1', [
    accountId,
  ]);
  if (rows.length > 1) throw new Error('The killed import was begun a second time.');
  return Number(rows[0]?.position ?? 0);
}

/**
 * Returns the messages of an account as text, in their order, without what differs between
 * accounts: ids, and numbers, some of which a killed process may have used up.
 */
async function rowsOf(database: Database, accountId: string): Promise<string[]> {
  const { rows } = await database.pool.query(
    `SELECT jsonb_build_array(c.type, c.title, c.status, m.client_message_id, m.kind, m.status,
        regexp_replace(m.body, 'act_\\w+', 'act', 'g'), cardinality(m.mentions), a.name, m.created_at, m.edited_at,
        m.deleted_at, r.client_message_id,
        (SELECT count(*) FROM reactions x WHERE x.message_id = m.id),
        (SELECT count(*) FROM participants p WHERE p.conversation_id = c.id))::text AS row
      FROM messages m
      JOIN conversations c ON c.id = m.conversation_id
      LEFT JOIN actors a ON a.id = m.author_id
      LEFT JOIN messages r ON r.conversation_id = m.conversation_id AND r.id = m.reply_to_id
      WHERE m.account_id = $1 AND m.imported IS NOT NULL
      ORDER BY c.type, c.title, m.sequence`,
    [accountId],
  );
  return rows.map(({ row }) => row);
}
