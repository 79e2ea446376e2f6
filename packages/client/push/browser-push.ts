import type {
  PushKey,
  PushSubscription as Registration,
} from '@parley/protocol/resources/push-subscription.ts';
import { lost } from '../errors/parley-error.ts';
import { tried } from '../errors/tried.ts';
import type { Fetch } from '../rest/pages.ts';
import type { PushState, WorkerAddress } from './push-state.ts';

/** The parts of a browser that push needs. */
interface Browser {
  readonly Notification: { readonly permission: 'default' | 'denied' | 'granted' };
  readonly PushManager: unknown;
  readonly navigator: {
    readonly serviceWorker: {
      readonly ready: Promise<Worker>;
      register(url: WorkerAddress): Promise<Worker>;
      getRegistration(): Promise<Worker | undefined>;
    };
  };
  readonly localStorage: {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
  };
}

interface Worker {
  readonly pushManager: {
    getSubscription(): Promise<Subscription | null>;
    subscribe(options: {
      readonly userVisibleOnly: true;
      readonly applicationServerKey: string;
    }): Promise<Subscription>;
  };
}

interface Subscription {
  unsubscribe(): Promise<boolean>;
  toJSON(): object;
}

/** The part of the registration that visits keep. */
interface Kept {
  /** Id of the server's key that the browser has subscribed with. */
  readonly keyId: string;
  readonly id: string;
  /** Its owner; absent in registrations of earlier releases. */
  readonly actor?: string | undefined;
}

/** Implements Push.state. */
export async function readState(actor: string | undefined): Promise<PushState> {
  const { navigator, PushManager, Notification }: Partial<Browser> = globalThis as object;
  if (!navigator?.serviceWorker || !PushManager || !Notification) return 'unsupported';
  if (Notification.permission === 'denied') return 'denied';
  if (!isOf(actor, kept())) return 'off';
  const worker = await navigator.serviceWorker.getRegistration();
  const subscription = await worker?.pushManager.getSubscription();
  return subscription ? 'on' : 'off';
}

/** Takes a person that is not known yet for the registered person. */
function isOf(actor: string | undefined, registration: Kept | undefined): registration is Kept {
  if (registration === undefined) return false;
  return actor === undefined || registration.actor === undefined || registration.actor === actor;
}

/** Implements Push.register. */
export async function register(
  fetch: Fetch,
  serviceWorkerUrl: WorkerAddress,
  actor: string | undefined,
): Promise<Registration> {
  const { serviceWorker } = browser().navigator;
  const { id: keyId, public_key } = await fetch<PushKey>(`${PATH}/key`);
  await serviceWorker.register(serviceWorkerUrl);
  const { pushManager } = await serviceWorker.ready;
  let subscription = await pushManager.getSubscription();
  const before = kept();
  if (subscription !== null && (before?.keyId !== keyId || !isOf(actor, before))) {
    // The server has another key, or another person had it: a browser has one subscription.
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: public_key });
  const registration = await fetch<Registration>(PATH, { method: 'POST', body: subscription.toJSON() });
  keep({ keyId, id: registration.id, actor });
  return registration;
}

/** Implements Push.unregister. */
export async function unregister(fetch: Fetch, actor: string | undefined): Promise<void> {
  const registration = kept();
  if (registration !== undefined && !isOf(actor, registration)) return;
  const worker = await browser().navigator.serviceWorker.getRegistration();
  const subscription = await worker?.pushManager.getSubscription();
  await subscription?.unsubscribe();
  keep(undefined);
  if (registration === undefined) return;
  try {
    await fetch(`${PATH}/${encodeURIComponent(registration.id)}`, { method: 'DELETE' });
  } catch (error) {
    // The server has ended it before.
    if (lost(error).code !== 'resource_not_found') throw error;
  }
}

/** Throws TypeError where there is no push, as in Node and in a page without TLS. */
function browser(): Browser {
  const browser: Partial<Browser> = globalThis as object;
  if (browser.navigator?.serviceWorker !== undefined) return browser as Browser;
  throw new TypeError('Web push needs service workers and https:.');
}

function kept(): Kept | undefined {
  return tried(() => JSON.parse(browser().localStorage.getItem(KEPT) ?? 'null')) ?? undefined;
}

/** A page without storage subscribes again at each visit. */
function keep(value: Kept | undefined): void {
  tried(() =>
    value === undefined
      ? browser().localStorage.removeItem(KEPT)
      : browser().localStorage.setItem(KEPT, JSON.stringify(value)),
  );
}

const PATH = '/v1/messaging/push-subscriptions';
const KEPT = 'parley.push';
