import { readFile } from 'node:fs/promises';
import { documentRoute } from '../../api/documents/documents.ts';
import type { PublicRoutes } from '../../api/pipeline/public-routes.ts';
import type { Feature } from '../../core/features/feature.ts';
import { OF_ACTOR } from '../../core/resources/holdings.ts';
import { GuardedPost } from '../../platform/outbound/guarded-post.ts';
import { pushAudience } from './audience.ts';
import { Digests, readDigest, settleDigest, writeDigestMail } from './digests.ts';
import { pushMetrics } from './metrics.ts';
import { pushCheck } from './push-check.ts';
import { Pushes } from './pushes.ts';
import { subscriptionRoutes } from './subscription-routes.ts';
import { deleteOfDeactivated, readSubscriptionsOf } from './subscriptions.ts';
import { isRealContact, Vapid } from './vapid.ts';

/** The part of a page's service worker that shows pushes (docs/sdk.md#web-push). */
const WORKER: PublicRoutes = {
  '/v1/push-worker.js': documentRoute(async () => ({
    contentType: 'text/javascript; charset=utf-8',
    body: await readFile(new URL('assets/push-worker.js', import.meta.url)),
  })),
};

export const push: Feature = {
  hooks: {
    operationTexts: new URL('operations.md', import.meta.url),
    holdings: {
      tables: {
        push_subscriptions: {
          account: 'content',
          actor_id: 'removed',
          exported: 'push_subscriptions',
          moved: { last: 'true' },
        },
        push_deliveries: { moved: { by: 'subscription_id', of: 'push_subscriptions', last: 'true' } },
        digests: { account: 'content', actor_id: 'removed', moved: { ...OF_ACTOR, last: 'true' } },
      },
      exportsOfPerson: { push_subscriptions: (db, _files, { id }) => readSubscriptionsOf(db, id) },
    },
    digestOf: async (db, userId) => {
      const digest = await readDigest(db, userId);
      if (digest === undefined) return undefined;
      return {
        id: digest.id,
        write: () => writeDigestMail(db, digest),
        settle: (tx) => settleDigest(tx, digest),
      };
    },
  },
  async open(node) {
    const { config, database, watch, rights, settings, guard, log, disposer } = node;
    const metrics = pushMetrics(node.metrics);
    const subject = config.vapidSubject;
    if (!isRealContact(subject)) {
      // A trial node has no public URL, and no browsers of Apple.
      log[config.publicUrl === null ? 'info' : 'warn'](
        { subject },
        'Apple refuses pushes with this contact: set PARLEY_VAPID_SUBJECT to a real https:// URL or mailto: address',
      );
    }
    const vapid = await Vapid.open({ database, subject });
    const audience = disposer.add('users with push subscriptions', pushAudience(database, rights), (it) =>
      it.close(),
    );
    const post = disposer.add('requests to push services', new GuardedPost(guard), (it) => it.close());
    const pushes = new Pushes({ database, watch, audience, settings, post, vapid, metrics, log });
    disposer.add('pushes', pushes, (it) => it.close());
    disposer.add('digests', new Digests({ database, metrics, log }), (it) => it.close());
    return {
      effects: {
        notified: (groups) => pushes.notified(groups),
        changed: (changes) => pushes.changed(changes),
        rightsChanged: (subjects) => deleteOfDeactivated(database, subjects),
      },
      join: () => ({
        routes: { settings: subscriptionRoutes(node, vapid) },
        publicRoutes: WORKER,
        checks: [pushCheck(database)],
      }),
    };
  },
};
