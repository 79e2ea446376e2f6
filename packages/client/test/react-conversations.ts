import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import type { TestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import type { OpenConversations } from './open-conversations.ts';

/**
 * Brings events into a busy page that shows 50 conversations, and checks that each list was
 * rendered at most once a frame, and ends with all that was sent.
 */
export async function bringEvents(
  t: Test,
  {
    app,
    conversations,
    page,
    events,
  }: {
    readonly app: TestApp;
    readonly conversations: OpenConversations;
    readonly page: Page;
    readonly events: number;
  },
): Promise<void> {
  const ids = await Promise.all(Array.from({ length: 50 }, (_, n) => conversations.group(`Group ${n}`)));
  const show = [['Inbox', { query: { pageSize: 100 } }], ...ids.map((id) => ['Timeline', { id }])];
  await page.evaluate(`show(...${JSON.stringify(show)})`);
  for (const id of ids) await app.call('POST', `/v1/messaging/conversations/${id}/messages`, first(id));
  const shown = () =>
    page.evaluate<number[]>(`${JSON.stringify(ids)}.map((id) => textOf('timeline-' + id).length)`);
  await until(async () => (await shown()).every((length) => length === 1), { what: 'the conversations' });
  // A page that is busy now and then, so that many events come at once.
  await page.evaluate('beBusy(); resetCounts()');

  const client = conversations.client(t, { as: 'grace' });
  const each = events / ids.length;
  for (let n = 0; n < each; n += BURST) {
    for (let first = 0; first < ids.length; first += AT_ONCE) {
      const burst = ids
        .slice(first, first + AT_ONCE)
        .flatMap((id) =>
          Array.from({ length: BURST }, (_, more) => client.send(id, `${n + more} of ${each}`)),
        );
      await Promise.all(burst);
    }
  }
  await until(async () => (await shown()).every((length) => length === each + 1), {
    what: 'all events in the page',
  });
  const renders = await page.evaluate<Record<string, number>>('renders');
  const most = await page.evaluate<Record<string, number>>('most');
  const lists = ids.map((id) => `Timeline ${id}`);
  const sum = lists.reduce((total, name) => total + renders[name]!, 0);
  t.comment(`${events} events, ${sum} renders of ${lists.length} lists, ${renders.Inbox} of the inbox`);
  t.ok(lists.every((name) => renders[name]! >= 1));
  t.ok(sum <= events, 'no more renders than events');
  t.strictSame(
    Object.entries(most).filter(([, count]) => count > 1),
    [],
    'at most one render a list and frame',
  );
}

/** Messages of a conversation, and conversations, that are sent to at the same time. */
const BURST = 20;
const AT_ONCE = 5;

function first(id: string): object {
  return { body: { body: 'first', client_message_id: id } };
}
