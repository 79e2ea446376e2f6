/**
 * Shows what Parley pushes (docs/sdk.md#web-push), for service workers:
 * importScripts('…/v1/push-worker.js'). A notification that arrives twice has the same tag, and is
 * shown once. Pages are those below the scope of the worker.
 */

self.addEventListener('push', (event) => event.waitUntil(show(event.data)));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(openPage(event.notification.data));
});

async function show(data) {
  const payload = data?.json();
  // Pushes of the page's own backend have another form.
  if (payload?.notification_id === undefined) return;
  const pages = await readPages();
  for (const page of pages) page.postMessage({ type: 'parley-push', payload });
  await self.navigator.setAppBadge?.(payload.unseen).catch(() => {});
  if (pages.some(({ focused }) => focused)) return;
  await self.registration.showNotification(payload.title, {
    body: payload.body ?? '',
    tag: payload.notification_id,
    timestamp: Date.parse(payload.created_at),
    data: payload,
  });
}

async function openPage(payload) {
  if (payload?.notification_id === undefined) return;
  // The one that was used last comes first.
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
