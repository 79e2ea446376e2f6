import { Listeners } from '../core/accounts/listeners.ts';
import { RIGHTS_CHANGED } from '../core/accounts/rights-changed.ts';
import { ConversationDirectory } from '../core/conversations/directory.ts';
import { SettingsOfUsers } from '../core/notifications/settings.ts';
import { deleteOfDeactivated } from '../features/push/subscription-store.ts';
import { readListeningWebhooks } from '../features/webhooks/listening-webhooks.ts';
import { Authenticator } from '../platform/access/authenticate.ts';
import { createRateLimits } from '../platform/access/rate-limit.ts';
import { RateSharing } from '../platform/access/rate-sharing.ts';
import { Rights } from '../platform/access/rights.ts';
import { Tokens } from '../platform/access/tokens.ts';
import type { Database } from '../platform/db/database.ts';
import { handle } from '../platform/db/topic.ts';
import type { Data } from './data.ts';
import type { PartOptions } from './part.ts';

export type Access = Awaited<ReturnType<typeof openAccess>>;

/** Opens authentication, rate limits and rights. */
export async function openAccess({ config, log, disposer }: PartOptions, { database, engine }: Data) {
  const rights = disposer.add('rights', await Rights.open(engine), (it) => it.close());
  const tokens = await Tokens.open({ database, secret: config.tokenSecret });
  const authenticator = new Authenticator({ database, tokens, rights });
  const rateLimits = createRateLimits(config.rateLimit);
  if (config.redisUrl !== null) {
    disposer.add('rate sharing', new RateSharing(engine, { ...rateLimits }), (it) => it.close());
  }
  const directory = new ConversationDirectory(database, rights);
  const opened = await Listeners.open({ database, rights, read: readListeners, log });
  const listeners = disposer.add('listeners', opened, (it) => it.close());
  const settings = new SettingsOfUsers(database, rights);
  const handlers = [
    handle(RIGHTS_CHANGED, async ({ subjects }) => {
      await Promise.all(subjects.map((subject) => rights.announce(subject)));
      await deleteOfDeactivated(database, subjects);
    }),
  ];
  return { rights, tokens, authenticator, rateLimits, directory, listeners, settings, handlers };
}

/** What listens to the events of accounts. */
async function readListeners(database: Database) {
  return { webhooks: await readListeningWebhooks(database) };
}
