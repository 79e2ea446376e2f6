import { Whereabouts } from '../api/access/account-moves.ts';
import { Authenticator } from '../api/access/authenticate.ts';
import { createRateLimits } from '../api/access/rate-limit.ts';
import { RateSharing } from '../api/access/rate-sharing.ts';
import { Rights } from '../api/access/rights.ts';
import { Tokens } from '../api/access/tokens.ts';
import { ConversationDirectory } from '../core/conversations/directory/directory.ts';
import { SettingsOfUsers } from '../core/notifications/settings/settings.ts';
import type { Data, PartOptions } from './data.ts';

export type Access = Awaited<ReturnType<typeof openAccess>>;

/** Opens authentication, rate limits and rights. */
export async function openAccess({ config, disposer }: PartOptions, { database, engine }: Data) {
  const rights = disposer.add('rights', await Rights.open(engine), (it) => it.close());
  const tokens = await Tokens.open({ database, secret: config.tokenSecret });
  const whereabouts = new Whereabouts({ database, homeCell: config.homeCell });
  const authenticator = new Authenticator({ database, tokens, rights, whereabouts });
  const rateLimits = createRateLimits(config.rateLimit);
  if (config.redisUrl !== null) {
    disposer.add('rate sharing', new RateSharing(engine, { ...rateLimits }), (it) => it.close());
  }
  const directory = new ConversationDirectory(database, rights);
  const settings = new SettingsOfUsers(database, rights);
  return { rights, tokens, whereabouts, authenticator, rateLimits, directory, settings };
}
