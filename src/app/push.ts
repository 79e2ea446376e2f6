import { PushAudience } from '../features/push/audience.ts';
import { Digests } from '../features/push/digests.ts';
import { Pushes } from '../features/push/pushes.ts';
import { Vapid } from '../features/push/vapid.ts';
import type { AddressGuard } from '../platform/outbound/address-guard.ts';
import { GuardedPost } from '../platform/outbound/guarded-post.ts';
import type { Access } from './access.ts';
import type { Data } from './data.ts';
import type { PartOptions } from './part.ts';

export type Push = Awaited<ReturnType<typeof openPush>>;

export interface PushOptions extends PartOptions {
  /** Decides which hosts this node may connect to. */
  readonly guard: AddressGuard;
}

/** Opens what reaches users while no page is open: web push, and the digest. */
export async function openPush(
  { config, log, metrics, disposer, guard }: PushOptions,
  { database, watch }: Data,
  { rights, settings }: Access,
) {
  const vapid = await Vapid.open({ database, subject: config.vapidSubject });
  const audience = disposer.add('users with push subscriptions', new PushAudience(database, rights), (it) =>
    it.close(),
  );
  const post = disposer.add('requests to push services', new GuardedPost(guard), (it) => it.close());
  const pushes = new Pushes({ database, watch, audience, settings, post, vapid, metrics, log });
  disposer.add('pushes', pushes, (it) => it.close());
  disposer.add('digests', new Digests({ database, metrics, log }), (it) => it.close());
  return { vapid, pushes, guard };
}
