/**
 * Shows what Parley pushes (docs/sdk.md#web-push), for service workers:
 * importScripts('…/v1/push-worker.js'). A notification that arrives twice has the same tag, and is
 * shown once.
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
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
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
  const [page] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (page === undefined) {
    const conversation = payload.conversation_id === null ? '' : `?conversation=${payload.conversation_id}`;
    await self.clients.openWindow(`/${conversation}`);
    return;
  }
  await page.focus();
  page.postMessage({ type: 'parley-open', payload });
}
