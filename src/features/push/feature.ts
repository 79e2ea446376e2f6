import { readFile } from 'node:fs/promises';
import { documentRoute } from '../../api/documents/documents.ts';
import type { PublicRoutes } from '../../api/pipeline/public-routes.ts';
import type { Feature } from '../../core/features/feature.ts';
import { OF_ACTOR } from '../../core/resources/holdings.ts';
import { GuardedPost } from '../../platform/outbound/guarded-post.ts';
import { pushAudience } from './deliveries/audience.ts';
import { Pushes } from './deliveries/pushes.ts';
import { Digests, readDigest, settleDigest, writeDigestMail } from './digests/digests.ts';
import { pushMetrics } from './metrics.ts';
import { appRoutes } from './phones/app-routes.ts';
import { CredentialSeal } from './phones/credential.ts';
import { deviceRoutes } from './phones/device-routes.ts';
import { phoneChannel, removeRead } from './phones/phone-channel.ts';
import { PhoneServices } from './phones/phone-services.ts';
import { deleteEnded, readDevicesOf } from './phones/push-devices.ts';
import { pushCheck } from './push-check.ts';
import { subscriptionRoutes } from './web/subscription-routes.ts';
import { deleteOfDeactivated, readSubscriptionsOf } from './web/subscriptions.ts';
import { isRealContact, Vapid } from './web/vapid.ts';
import { webChannel } from './web/web-channel.ts';

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
        push_devices: {
          account: 'content',
          actor_id: 'removed',
          exported: 'push_devices',
          moved: { last: 'true' },
        },
        device_deliveries: { moved: { by: 'subscription_id', of: 'push_devices', last: 'true' } },
        push_apps: { account: 'last' },
        digests: { account: 'content', actor_id: 'removed', moved: { ...OF_ACTOR, last: 'true' } },
      },
      exportsOfPerson: {
        push_subscriptions: (db, _files, { id }) => readSubscriptionsOf(db, id),
        push_devices: (db, _files, { id }) => readDevicesOf(db, id),
      },
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
    const seal = await CredentialSeal.open(database, config.encryptionKeys);
    const post = disposer.add('requests to push services', new GuardedPost(guard), (it) => it.close());
    const services = new PhoneServices({ ...config, database, post, seal });
    const common = { database, watch, settings, metrics, log };
    const subscribers = disposer.add(
      'users with push subscriptions',
      pushAudience(database, rights, 'push_subscriptions'),
      (it) => it.close(),
    );
    const owners = disposer.add('users with phones', pushAudience(database, rights, 'push_devices'), (it) =>
      it.close(),
    );
    const browsers = disposer.add(
      'pushes to browsers',
      new Pushes({ ...common, audience: subscribers, channel: webChannel({ database, post, vapid }) }),
      (it) => it.close(),
    );
    const phones = disposer.add(
      'pushes to phones',
      new Pushes({ ...common, audience: owners, channel: phoneChannel(database, services) }),
      (it) => it.close(),
    );
    disposer.add('digests', new Digests({ database, metrics, log }), (it) => it.close());
    return {
      effects: {
        notified: (groups) => both(browsers.notified(groups), phones.notified(groups)),
        async changed(changes) {
          await Promise.all([browsers.changed(changes), phones.changed(changes)]);
          const updated = changes.changes.filter(({ event }) => event === 'notification.updated');
          const isDue = await removeRead(
            database,
            updated.map(({ id }) => id),
          );
          if (isDue) phones.wake();
        },
        async rightsChanged(subjects) {
          await Promise.all([deleteOfDeactivated(database, subjects), deleteEnded(database, subjects)]);
        },
      },
      join: () => ({
        routes: {
          settings: [
            ...subscriptionRoutes(node, vapid),
            ...deviceRoutes(database, (app) => services.originOf(app)),
            ...appRoutes(database, seal),
          ],
        },
        publicRoutes: WORKER,
        checks: [pushCheck(database)],
      }),
    };
  },
};

/** Returns undefined if there is nothing to wait for. */
function both(one: Promise<void> | undefined, other: Promise<void> | undefined): Promise<void> | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Promise.all([one, other]).then(() => undefined);
}
