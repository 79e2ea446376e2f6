/**
 * Shows Parley's pushes (docs/sdk.md#web-push), for service workers:
 * importScripts('…/v1/push-worker.js'). A notification that arrives twice has the same tag, and is
 * shown once. Pages are those below the scope of the worker.
 *
 * Every push shows a notification, even an unreadable push or a push above a page in use: otherwise
 * browsers show their own, and Safari ends the subscription after three.
 */

self.addEventListener('push', (event) => event.waitUntil(show(event.data)));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(openPage(event.notification.data));
});

/** The payload that is shown for a push that is not Parley's. */
const UNREADABLE = {
  notification_id: 'parley',
  title: 'New notification',
  conversation_id: null,
  message_id: null,
};

async function show(data) {
  const payload = read(data);
  const pages = await readPages();
  await self.registration.showNotification(payload.title, {
    body: payload.body ?? '',
    tag: payload.notification_id,
    timestamp: Date.parse(payload.created_at) || Date.now(),
    data: payload,
    // A person who looks at a page needs no sound.
    silent: pages.some(({ focused }) => focused),
  });
  if (payload === UNREADABLE) return;
  for (const page of pages) page.postMessage({ type: 'parley-push', payload });
  await self.navigator.setAppBadge?.(payload.unseen).catch(() => {});
}

function read(data) {
  try {
    const payload = data.json();
    return payload.notification_id === undefined ? UNREADABLE : payload;
  } catch {
    return UNREADABLE;
  }
}

async function openPage(payload) {
  // A notification of the page itself has other data.
  if (payload?.notification_id === undefined) return;
  // The most recently used page comes first.
  const [page] = await readPages();
  if (page === undefined) {
    await self.clients.openWindow(addressOf(payload));
    return;
  }
  await page.focus();
  page.postMessage({ type: 'parley-open', payload });
}

async function readPages() {
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  return pages.filter(({ url }) => url.startsWith(self.registration.scope));
}

function addressOf({ conversation_id: conversation, message_id: message }) {
  const url = new URL(self.registration.scope);
  if (conversation) url.searchParams.set('conversation', conversation);
  if (conversation && message) url.searchParams.set('message', message);
  return url.href;
}
