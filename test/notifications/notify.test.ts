import type { Actor, ActorType } from '@parley/protocol/resources/actor.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import t from 'tap';
import type { ConversationFacts, Member } from '../../src/core/conversations/directory/directory.ts';
import { planNotifications } from '../../src/core/notifications/causes/notify.ts';
import type { MessageRow } from '../../src/core/resources/message.ts';
import { preview } from '../../src/core/resources/notification.ts';

t.test('every user of the conversation is notified once, except the author', async (t) => {
  const facts = conversation([member('ada'), member('grace'), member('vera'), member('bot', 'agent')]);
  const told = notificationsFor(message({ author_id: 'ada' }), actor('ada'), facts);
  t.strictSame(
    told,
    ['grace', 'vera'].map((recipient_id) => ({
      recipient_id,
      category: 'chat.message',
      title: 'Name of ada in Pier',
      sender_type: 'user',
    })),
  );
});

t.test('a mention replaces the notification of the message, once, and overrides the mute', async (t) => {
  const facts = conversation([
    member('ada'),
    member('grace', 'user', { muted: true }),
    member('vera', 'user', { muted: true }),
    member('linus'),
    member('tim'),
  ]);
  const mentions = ['grace', 'linus', 'linus'];
  const told = notificationsFor(message({ author_id: 'ada', mentions }), actor('ada'), facts);
  t.strictSame(
    told.map(({ recipient_id, category }) => `${recipient_id} ${category}`),
    ['grace chat.mention', 'linus chat.mention', 'tim chat.message'],
  );
  t.not(told[1]!.title, told[2]!.title, 'and says so');
});

t.test('a mute ends at its time, though the roster is the same', async (t) => {
  const facts = conversation([
    member('ada'),
    member('grace', 'user', { muted: true, mutedUntilMs: Date.now() - 1 }),
    member('tim', 'user', { muted: true, mutedUntilMs: Date.now() + 3_600_000 }),
  ]);
  const planned = notificationsFor(message({ author_id: 'ada' }), actor('ada'), facts);
  t.strictSame(
    planned.map(({ recipient_id }) => recipient_id),
    ['grace'],
  );
});

t.test('an author who mentions themselves gets no notification, muted or not', async (t) => {
  for (const muted of [false, true]) {
    const facts = conversation([member('ada', 'user', { muted })]);
    const row = message({ author_id: 'ada', mentions: ['ada'] });
    t.strictSame(notificationsFor(row, actor('ada'), facts), []);
  }
});

t.test('agents and customers have none, mentioned or not', async (t) => {
  const facts = conversation([
    member('ada'),
    member('grace'),
    member('bot', 'agent'),
    member('carl', 'customer'),
    member('robot', 'system'),
  ]);
  const everybody = [...facts.members.keys()];
  for (const mentions of [null, everybody]) {
    const told = notificationsFor(message({ author_id: 'ada', mentions }), actor('ada'), facts);
    t.strictSame(
      told.map(({ recipient_id }) => recipient_id),
      ['grace'],
    );
  }
});

t.test('the author behind a persona is not notified, and the team sees the persona', async (t) => {
  const facts = conversation([member('ada'), member('grace'), member('carl', 'customer')]);
  const persona = actor('desk', 'group');
  const told = notificationsFor(message({ author_id: 'ada', sender_id: 'desk' }), persona, facts);
  t.strictSame(
    told.map(({ recipient_id, sender_type, title }) => [recipient_id, sender_type, title]),
    [['grace', 'group', 'Name of desk in Pier']],
  );
});

t.test('senders: people and personas are themselves, whatever else is the system', async (t) => {
  const facts = conversation([member('grace')]);
  const expected: [ActorType, string][] = [
    ['user', 'user'],
    ['group', 'group'],
    ['agent', 'system'],
    ['api_key', 'system'],
  ];
  for (const [type, senderType] of expected) {
    const [told] = notificationsFor(message({ author_id: 'x' }), actor('x', type), facts);
    t.match(told, { sender_type: senderType }, type);
  }
  const [pure] = notificationsFor(message({ author_id: null, sender_id: null }), null, facts);
  t.match(pure, { sender_type: 'system', title: 'Pier' });
});

t.test("the team is notified of a customer's message, and of no system message", async (t) => {
  const facts = conversation([member('grace'), member('vera'), member('carl', 'customer')]);
  const ofCustomer = message({ author_id: 'carl', visibility: 'external' });
  t.strictSame(
    notificationsFor(ofCustomer, actor('carl'), facts).map(({ recipient_id, sender_type }) => [
      recipient_id,
      sender_type,
    ]),
    [
      ['grace', 'user'],
      ['vera', 'user'],
    ],
  );
  for (const visibility of ['internal', 'system'] as const) {
    const event = message({ kind: 'system_event', visibility });
    t.strictSame(notificationsFor(event, null, facts), [], visibility);
  }
});

t.test('alerts have a category of their own, which depends on their author', async (t) => {
  const facts = conversation([member('grace')]);
  const alert = message({ kind: 'alert' });
  const [broadcast] = notificationsFor(alert, null, facts);
  t.match(broadcast, { category: 'system.broadcast', title: 'Pier', sender_type: 'system' });
  const [raised] = notificationsFor(alert, actor('bot', 'agent'), facts);
  t.match(raised, { category: 'agent.alert', title: 'Name of bot in Pier', sender_type: 'system' });
});

t.test('the preview is 140 characters, none of them cut in two', async (t) => {
  const ship = '🚢';
  const cases: [what: string, body: string, expected: string][] = [
    ['139', 'a'.repeat(139), 'a'.repeat(139)],
    ['140', 'a'.repeat(140), 'a'.repeat(140)],
    ['141', 'a'.repeat(141), 'a'.repeat(140)],
    ['pairs', ship.repeat(140), ship.repeat(140)],
    ['a pair at the end', `${'a'.repeat(139)}${ship}bc`, `${'a'.repeat(139)}${ship}`],
    ['a pair behind the end', `${'a'.repeat(140)}${ship}`, 'a'.repeat(140)],
    ['pairs out of step', `a${ship.repeat(200)}`, `a${ship.repeat(139)}`],
    ['the most there is', ship.repeat(40_000), ship.repeat(140)],
  ];
  for (const [what, body, expected] of cases) {
    const shown = preview({ body })!;
    t.equal(shown, expected, what);
    t.ok(shown.isWellFormed(), what);
  }
});

t.test('the preview is the words of a message: Markdown without its marks, a mail as it is', async (t) => {
  const body = '# Plan\n\n- **Bold** and [the dock](https://x.example)\n- `code`';
  t.equal(preview({ kind: 'chat', body }), 'Plan Bold and the dock code');
  t.equal(preview({ kind: 'email', body: '*Stars*  stay\nhere' }), '*Stars* stay here');
  t.equal(preview({ body: null }), null);
  const facts = conversation([member('grace')]);
  const planned = planNotifications(message({ body: '**Go**' }), actor('bot', 'agent'), facts);
  t.equal(planned?.preview, 'Go');
});

t.test('a text that is streaming has none yet', async (t) => {
  const facts = conversation([member('grace')]);
  t.equal(
    planNotifications(message({ streaming_state: 'streaming' }), actor('bot', 'agent'), facts),
    undefined,
  );
});

/** The planned notifications, one for each recipient. */
function notificationsFor(row: MessageRow, sender: Actor | null, facts: ConversationFacts) {
  const { senderType, notifications } = planNotifications(row, sender, facts)!;
  return notifications.flatMap(({ category, title, recipients }) =>
    recipients.map((recipient_id) => ({ recipient_id, category, title, sender_type: senderType })),
  );
}

function message(fields: Partial<MessageRow>): MessageRow {
  return {
    id: 'msg_1',
    account_id: 'acc_1',
    conversation_id: 'cnv_1',
    sequence: 1,
    kind: 'chat',
    status: 'sent',
    visibility: 'internal',
    channel: 'message',
    email_status: null,
    body: 'ahoy',
    subject: null,
    cc: null,
    mentions: null,
    sender_id: fields.author_id ?? null,
    author_id: null,
    reply_to_id: null,
    resource_type: null,
    resource_id: null,
    agent_run_id: null,
    streaming_state: null,
    client_message_id: null,
    has_attachments: false,
    scheduled_at: null,
    edited_at: null,
    edited_by: null,
    deleted_at: null,
    redaction: null,
    created_at: '2026-11-21T01:02:03.000004Z',
    updated_at: '2026-11-21T01:02:03.000004Z',
    outcome: null,
    metadata: null,
    imported: null,
    incomplete: null,
    event: null,
    question: null,
    ...fields,
  };
}

function conversation(members: readonly Member[]): ConversationFacts {
  return {
    id: 'cnv_1',
    accountId: 'acc_1',
    type: 'group',
    audience: 'internal',
    status: 'active',
    title: 'Pier',
    members: new Map(members.map((one) => [one.actor.id, one])),
    hasHidden: false,
    agents: [],
    deletedAt: null,
    isBlocked: false,
    persona: null,
    mailboxId: null,
    widgetId: null,
    assigneeId: null,
    mailsAnswers: false,
    namesAddresses: true,
    rosterVersion: 0,
    purgedThrough: 0,
  };
}

function member(
  id: string,
  type: Participant['type'] = 'user',
  { muted = false, mutedUntilMs: endsMs = Infinity } = {},
): Member {
  const mutedUntilMs = muted ? endsMs : 0;
  const actorType = type === 'agent' ? 'agent' : 'user';
  return {
    participantId: `prt_${id}`,
    type,
    role: 'member',
    mutedUntilMs,
    isNotified: true,
    deactivated: false,
    blocked: false,
    actor: actor(id, actorType),
  };
}

function actor(id: string, type: ActorType = 'user'): Actor {
  return { id, object: 'actor', type, name: `Name of ${id}`, handle: null, avatar_url: null, role: null };
}
