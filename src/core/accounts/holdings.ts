import { type Holdings, OF_ACTOR } from '../resources/holdings.ts';
import { hasAddress } from '../resources/user.ts';
import { blankPerson } from './actors/persons.ts';
import { readAvatarKey } from './avatars/avatars.ts';

const OF_USER = 'JOIN users u ON u.id = t.user_id WHERE u.account_id = $1';
const OF_ITS_ACTOR = 'JOIN actors a ON a.id = t.actor_id WHERE a.account_id = $1';

export const accountHoldings: Holdings = {
  tables: {
    accounts: { account: 'last', moved: { by: 'id', last: 'true' } },
    roles: { account: 'last', exported: 'profile' },
    actors: { account: 'last', exported: 'profile' },
    entities: { account: 'last' },
    messaging_groups: { account: 'last' },
    group_members: { account: 'last', actor_id: 'erased', moved: OF_ACTOR },
    users: { account: 'last', exported: 'profile' },
    operators: { account: ['last', OF_USER], user_id: 'removed' },
    api_keys: { account: 'last' },
    presences: { account: ['last', OF_ITS_ACTOR] },
    tickets: { account: 'last', actor_id: 'removed' },
    refresh_tokens: { account: 'last', actor_id: 'removed' },
    avatars: {
      account: 'content',
      actor_id: 'removed',
      file: 's3_key',
      exported: 'profile',
      moved: { file: ['s3_key', 't.content_type'] },
    },
    idempotency_keys: { account: 'content' },
  },
  blankPerson: (tx, { id }) => blankPerson(tx, id),
  exportsOfPerson: {
    async profile(db, files, { account_id: _, ...profile }) {
      const key = await readAvatarKey(db, profile.id);
      const email = profile.email !== null && hasAddress({ email: profile.email }) ? profile.email : null;
      return { ...profile, email, avatar_url: key === undefined ? null : files.refer({ key }) };
    },
  },
};
