import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { byTopic, defineTopic, handle } from '../../src/platform/db/queue/topic.ts';

const SOURCE = resolve(import.meta.dirname, '../../src');
const text = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readFileSync(join(SOURCE, path), 'utf8'))
  .join('\n');
const defined = [...text.matchAll(/^export const (\w+) = defineTopic<.+>\(\s*'([^']+)',?\s*\);$/gm)];

t.test('every topic has one handler on a node', async (t) => {
  for (const [, constant, name] of defined) {
    const handlers = text.match(new RegExp(`\\bhandle\\(${constant},`, 'g')) ?? [];
    t.equal(
      handlers.length,
      1,
      `${constant} (${name}): handle(${constant}, …) where the node is put together`,
    );
  }
});

// Rows outlive the release that wrote them: a topic that is renamed leaves them without a handler.
t.test('topics keep the names under which rows of earlier releases are stored', async (t) => {
  t.strictSame(defined.map(([, , name]) => name).sort(), [
    'actors.changed',
    'addresses.confirmation_due',
    'agent_runs.approval',
    'agent_runs.due',
    'agent_runs.ended',
    'changed',
    'conversations.all_read',
    'conversations.assigned',
    'conversations.created',
    'conversations.deleted',
    'conversations.read',
    'finish_redaction',
    'mail.answer_unread',
    'mail.received',
    'messages.deleted',
    'messages.edited',
    'messages.email_due',
    'messages.imported',
    'messages.sent',
    'messages.system',
    'participants.added',
    'platform_events.raised',
    'questions.ended',
    'remove_withdrawn_uploads',
    'rights.changed',
    'scheduled.not_sent',
    'send_scheduled',
    'teams.changed',
    'users.invitation_due',
    'visitor_claimed',
    'waiting.derive',
  ]);
});

t.test('a topic has one handler', async (t) => {
  const topic = defineTopic<{ id: string }>('a');
  const seen: string[] = [];
  const handler = handle(topic, async ({ id }) => void seen.push(id));
  await byTopic([handler]).get('a')?.({ id: 'one' }, false);
  t.strictSame(seen, ['one']);
  t.throws(() => byTopic([handler, handle(topic, async () => {})]), {
    message: 'Two handlers of the topic a.',
  });
});
