import { type Commands, LIMIT, listOf, USER } from '../../core/features/command.ts';

/** The operator's commands for pushes. Each loads its modules when it runs. */
export const pushCommands: Commands = {
  'digest list': {
    help: 'List the digests of unseen notifications that wait for mail, the oldest first, without their text',
    options: { limit: LIMIT },
    run: async ({ database }, { limit }) => {
      const { readDigests } = await import('./digests/digests.ts');
      return listOf('digest', limit, async (fetch) =>
        (await readDigests(database, fetch)).map(({ actor_id, notification_ids, ...digest }) => ({
          user_id: actor_id,
          notifications: notification_ids.length,
          ...digest,
        })),
      );
    },
  },
  'digest show': {
    help: 'Show the mail that a digest would be now',
    options: { user: USER },
    async run({ database }, { user = '' }) {
      const { readDigest, writeDigestMail } = await import('./digests/digests.ts');
      const digest = await readDigest(database, user);
      const mail = digest && (await writeDigestMail(database, digest));
      if (mail === undefined) throw new Error(`nothing is to be mailed to the user ${user}`);
      return { object: 'digest_mail', user_id: user, ...mail };
    },
  },
};
